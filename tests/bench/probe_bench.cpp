// What a hook costs: the same call with the probe recording, with the probe inert, and without it.
// Runs itself again under the preload; prints nanoseconds. No claim about serving cost is made from
// it.
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

template <class Call> Cost measure(Call call) {
  std::vector<std::uint32_t> ns(calls);
  for (int i = 0; i < warm; ++i)
    call();
  const std::uint64_t start = processor_ns();
  for (int i = 0; i < calls; ++i) {
    const std::uint64_t begin = hitproof::schema::now();
    call();
    ns[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(hitproof::schema::now() - begin);
  }
  const double processor = static_cast<double>(processor_ns() - start);
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
  const Cost query = measure([&] { cudaEventQuery(event); });
  const Cost copy = measure([&] { cudaMemcpyAsync(device, host, 0, cudaMemcpyDefault, stream); });
  std::printf("%f %f %f %f %f %f\n", query.median, query.mean, query.p999, copy.median, copy.mean,
              copy.p999);
  return 0;
}

struct Run {
  Cost query, copy;
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
  Cost& q = result.query;
  Cost& c = result.copy;
  if (std::fscanf(in, "%lf %lf %lf %lf %lf %lf", &q.median, &q.mean, &q.p999, &c.median, &c.mean,
                  &c.p999) != 6) {
    std::fprintf(stderr, "probe_bench: the child printed nothing\n");
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
  if (!pool.open(directory, 128).ok()) return 1;
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
  std::printf("a hook's record: query median %.0f mean %.0f ns, copy median %.0f mean %.0f ns "
              "(difference to the bare call)\n",
              probed.query.median - bare.query.median, probed.query.mean - bare.query.mean,
              probed.copy.median - bare.copy.median, probed.copy.mean - bare.copy.mean);
  std::filesystem::remove_all(directory);
  return 0;
}
