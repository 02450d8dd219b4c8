// The test subject: one program with many scenarios, each of which knows what it moves. It prints,
// after every call, the row that the recording must have; the tests compare the two lists.
#pragma once

#define HITPROOF_CUDA_EXPLICIT_NAMES
#include "engine/sim/cuda_subset.h"
#include "engine/sim/cudart_subset.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <unistd.h>

namespace subject {

[[noreturn]] inline void fail(const char* what, int code) {
  std::fprintf(stderr, "subject: %s failed with %d\n", what, code);
  std::exit(90);
}
#define SUBJECT_OK(call)                                                                           \
  do {                                                                                             \
    const int subject_code = static_cast<int>(call);                                               \
    if (subject_code != 0) subject::fail(#call, subject_code);                                     \
  } while (0)

enum Direction { d2h = 0, h2d = 1, d2d = 2, h2h = 3, unknown = 4 };

struct CopyRow {
  const char* hook;
  unsigned version = 0;
  Direction direction = unknown;
  std::uint64_t bytes = 0;
  const void* src = nullptr;
  const void* dst = nullptr;
  const void* stream = nullptr;
  unsigned index = 0, count = 1, access = 0;
  int result = 0;
};
inline void says(const CopyRow& r) {
  std::printf("copy %s v%u dir%d %llu %p %p %p %u/%u a%u r%d\n", r.hook, r.version, r.direction,
              static_cast<unsigned long long>(r.bytes), r.src, r.dst, r.stream, r.index, r.count,
              r.access, r.result);
}
inline void says_order(const char* hook, int op, const void* stream, const void* event,
                       std::uint64_t value = 0, int result = 0) {
  std::printf("order %s op%d %p %p %llu r%d\n", hook, op, stream, event,
              static_cast<unsigned long long>(value), result);
}
inline void says_fact(const char* name, std::uint64_t value) {
  std::printf("fact %s %llu\n", name, static_cast<unsigned long long>(value));
}

inline CUdeviceptr dev(void* p) { return reinterpret_cast<CUdeviceptr>(p); }
inline void* ptr(CUdeviceptr p) { return reinterpret_cast<void*>(p); }

// Not part of its caller, where a vfork() may stand.
[[gnu::noinline]] inline void small_copy() {
  void* p = nullptr;
  char byte = 42;
  SUBJECT_OK(cudaMalloc(&p, 4096));
  SUBJECT_OK(cudaMemcpy(p, &byte, 1, cudaMemcpyHostToDevice));
  SUBJECT_OK(cudaFree(p));
}

// Until that thread of this process sleeps: behind its last step, in a call that waits.
inline void await_sleep(long thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  for (char state = 0; state != 'S'; usleep(1000)) {
    std::string id, name;
    std::ifstream(path) >> id >> name >> state;
  }
}

// Memory of both kinds on an initialised device.
struct Memory {
  static constexpr std::size_t bytes = 1 << 20;
  char* device = nullptr;
  char* device2 = nullptr;
  char* pinned = nullptr;
  char* pageable = nullptr;
  cudaStream_t stream = nullptr;
  Memory();
  ~Memory();
};

struct Scenario {
  const char* name;
  int (*run)(int argc, char** argv);
};
extern const Scenario copy_scenarios[], lookup_scenarios[], graph_scenarios[], order_scenarios[],
    page_scenarios[], process_scenarios[], end_scenarios[];

} // namespace subject
