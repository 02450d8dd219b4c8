// What a hook costs: the same call with the probe recording, with the probe inert, and without it.
// Runs itself again under the preload, the three in turn, and takes the differences within a round:
// a machine with other work on it is not the same a second later. Prints nanoseconds. No claim
// about serving cost is made from it. On the simulated device, or, with NVIDIA's libcudart.so.13
// first in LD_LIBRARY_PATH, on a GPU.
#include "schema/clock.h"
#include "schema/segment_pool.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define HITPROOF_CUDA_EXPLICIT_NAMES
#include "engine/sim/cudart_subset.h"

namespace {

constexpr int rounds = 15, calls = 20000, warm = 2000;
constexpr std::uint64_t warm_ns = 50'000'000; // longer than the probe's clock takes to settle
constexpr const char* names[] = {"query", "empty copy", "copy of 4 KiB"};
constexpr std::size_t kinds = 3; // of calls

struct Cost {
  double median, mean,
      p999; // mean by processor time: other programs on the machine are not counted
};

std::uint64_t processor_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

// `rest` runs after every 256 calls and is not counted.
template <class Call, class Rest> Cost measure(Call call, Rest rest) {
  std::vector<std::uint32_t> ns(calls);
  const std::uint64_t began = hitproof::schema::now();
  for (int i = 0; i < warm || hitproof::schema::now() - began < warm_ns; ++i) {
    call();
    if (i % 256 == 0) rest();
  }
  std::uint64_t resting = 0;
  const std::uint64_t start = processor_ns();
  for (int i = 0; i < calls; ++i) {
    const std::uint64_t begin = hitproof::schema::now();
    call();
    ns[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(hitproof::schema::now() - begin);
    if (i % 256 != 0) continue;
    const std::uint64_t before = processor_ns();
    rest();
    resting += processor_ns() - before;
  }
  const double processor = static_cast<double>(processor_ns() - start - resting);
  std::sort(ns.begin(), ns.end());
  return {static_cast<double>(ns[calls / 2]), processor / calls,
          static_cast<double>(ns[calls - calls / 1000])};
}

int child() {
  cudaEvent_t event = nullptr;
  void* device = nullptr;
  cudaStream_t stream = nullptr;
  void* host = nullptr;
  if (cudaMalloc(&device, 4096) != 0 || cudaMallocHost(&host, 4096) != 0 ||
      cudaEventCreate(&event) != 0 || cudaStreamCreate(&stream) != 0)
    return 1;
  // Calls that do nothing: a query of an event never recorded, and an empty copy.
  const Cost query = measure([&] { cudaEventQuery(event); }, [] {});
  const Cost copy =
      measure([&] { cudaMemcpyAsync(device, host, 0, cudaMemcpyDefault, stream); }, [] {});
  // And a copy that moves something, its device kept from falling behind.
  const Cost moving =
      measure([&] { cudaMemcpyAsync(device, host, 4096, cudaMemcpyHostToDevice, stream); },
              [&] { cudaStreamSynchronize(stream); });
  for (const Cost& c : {query, copy, moving})
    std::printf("%f %f %f\n", c.median, c.mean, c.p999);
  return 0;
}

using Run = std::array<Cost, kinds>;

Run run(const char* self, const char* probe, const std::string& directory) {
  int ends[2];
  Run result{};
  if (pipe(ends) != 0) return result;
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], 1);
    if (probe != nullptr) setenv("LD_PRELOAD", probe, 1);
    if (!directory.empty()) setenv("HITPROOF_DIR", directory.c_str(), 1);
    execl(self, self, "child", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  FILE* in = fdopen(ends[0], "r");
  for (Cost& c : result) {
    if (std::fscanf(in, "%lf %lf %lf", &c.median, &c.mean, &c.p999) == 3) continue;
    std::fprintf(stderr, "probe_bench: the child did not finish\n");
    break;
  }
  std::fclose(in);
  int status = 0;
  waitpid(pid, &status, 0);
  return result;
}

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

template <class Of> std::vector<double> over(const std::vector<Run>& runs, Of of) {
  std::vector<double> values;
  for (const Run& run : runs)
    values.push_back(of(run));
  return values;
}

// Medians over the rounds.
void print(const char* how, const std::vector<Run>& runs) {
  for (std::size_t k = 0; k < kinds; ++k) {
    const auto median = over(runs, [k](const Run& r) { return r[k].median; });
    const auto mean = over(runs, [k](const Run& r) { return r[k].mean; });
    const auto p999 = over(runs, [k](const Run& r) { return r[k].p999; });
    std::printf("  %-14s %-14s median %7.0f ns   mean %7.0f ns   p99.9 %8.0f ns\n", names[k], how,
                quantile(median, 0.5), quantile(mean, 0.5), quantile(p999, 0.5));
  }
}

// Of the differences within a round the median, with the quartiles.
void difference(const char* how, const std::vector<Run>& with, const std::vector<Run>& without) {
  for (std::size_t k = 0; k < kinds; ++k) {
    std::vector<double> median, mean;
    for (std::size_t i = 0; i < with.size(); ++i) {
      median.push_back(with[i][k].median - without[i][k].median);
      mean.push_back(with[i][k].mean - without[i][k].mean);
    }
    std::printf("  %-14s %-14s median %5.0f ns [%.0f .. %.0f]   mean %5.0f ns [%.0f .. %.0f]\n",
                names[k], how, quantile(median, 0.5), quantile(median, 0.25),
                quantile(median, 0.75), quantile(mean, 0.5), quantile(mean, 0.25),
                quantile(mean, 0.75));
  }
}

// One run under the probe, its segments made and prefaulted in advance, as in a recorded run.
Run recorded(const std::string& directory) {
  hitproof::schema::SegmentPool pool;
  if (!pool.open(directory, 160).ok()) return {};
  pool.fill();
  return run("/proc/self/exe", HITPROOF_PROBE_LIBRARY, directory);
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "child") == 0) return child();
  std::vector<Run> bare, inert, probed;
  for (int round = 0; round < rounds; ++round) {
    char pattern[] = "/tmp/hitproof-probe-bench-XXXXXX";
    const std::string directory = mkdtemp(pattern);
    // Each of the three comes first, second and last as often.
    for (int turn = 0; turn < 3; ++turn) {
      switch ((turn + round) % 3) {
      case 0:
        bare.push_back(run("/proc/self/exe", nullptr, ""));
        break;
      case 1:
        inert.push_back(run("/proc/self/exe", HITPROOF_PROBE_LIBRARY, ""));
        break;
      default:
        probed.push_back(recorded(directory));
        break;
      }
    }
    std::filesystem::remove_all(directory);
  }
  std::printf("one call, clock included, %d rounds of %d calls:\n", rounds, calls);
  print("without probe", bare);
  print("probe inert", inert);
  print("recorded", probed);
  std::printf("a hook's record (difference to the bare call of the same round):\n");
  difference("probe inert", inert, bare);
  difference("recorded", probed, bare);
  return 0;
}
