// What a hook costs: the same call with the probe recording, with the probe inert, and without it.
// Runs itself again under the preload; prints nanoseconds. No claim about serving cost is made from
// it. On the simulated device, or, with NVIDIA's libcudart.so.13 first in LD_LIBRARY_PATH, on a
// GPU.
#include "schema/clock.h"
#include "schema/segment_pool.h"

#include <algorithm>
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

constexpr int calls = 200000, warm = 20000;

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
  for (int i = 0; i < warm; ++i) {
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

struct Run {
  Cost query, copy, moving;
};

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
  for (Cost* c : {&result.query, &result.copy, &result.moving}) {
    if (std::fscanf(in, "%lf %lf %lf", &c->median, &c->mean, &c->p999) == 3) continue;
    std::fprintf(stderr, "probe_bench: the child did not finish\n");
    break;
  }
  std::fclose(in);
  int status = 0;
  waitpid(pid, &status, 0);
  return result;
}

void print(const char* what, const Cost& c) {
  std::printf("  %-28s median %7.0f ns   mean %7.0f ns   p99.9 %8.0f ns\n", what, c.median, c.mean,
              c.p999);
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "child") == 0) return child();
  char pattern[] = "/tmp/hitproof-probe-bench-XXXXXX";
  const std::string directory = mkdtemp(pattern);
  // As in a recorded run: segments are made and prefaulted in advance.
  hitproof::schema::SegmentPool pool;
  if (!pool.open(directory, 192).ok()) return 1;
  pool.fill();
  const Run bare = run("/proc/self/exe", nullptr, "");
  const Run inert = run("/proc/self/exe", HITPROOF_PROBE_LIBRARY, "");
  const Run probed = run("/proc/self/exe", HITPROOF_PROBE_LIBRARY, directory);
  std::printf("one call, clock included:\n");
  print("query, without probe", bare.query);
  print("query, probe inert", inert.query);
  print("query, recorded", probed.query);
  print("empty copy, without probe", bare.copy);
  print("empty copy, probe inert", inert.copy);
  print("empty copy, recorded", probed.copy);
  print("copy of 4 KiB, without probe", bare.moving);
  print("copy of 4 KiB, probe inert", inert.moving);
  print("copy of 4 KiB, recorded", probed.moving);
  std::printf("a hook's record (difference to the bare call):\n");
  const auto difference = [](const char* what, const Cost& with, const Cost& without) {
    std::printf("  %-28s median %7.0f ns   mean %7.0f ns\n", what, with.median - without.median,
                with.mean - without.mean);
  };
  difference("query", probed.query, bare.query);
  difference("empty copy", probed.copy, bare.copy);
  difference("copy of 4 KiB", probed.moving, bare.moving);
  std::filesystem::remove_all(directory);
  return 0;
}
