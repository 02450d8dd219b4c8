#include "cuda_runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

namespace hitproof::kernels::cuda {
extern thread_local uint4 shared_memory[];
thread_local uint4 shared_memory[48 * 1024 / 16];
} // namespace hitproof::kernels::cuda

// Saves the callee's registers on the stack of the running fiber and goes on with another's.
extern "C" void emulation_switch(void** from, void* to);
asm(R"(
.text
emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

namespace emulation {
namespace {

constexpr size_t stack_bytes = 64 * 1024;
constexpr unsigned most_threads = 1024;
constexpr unsigned lanes = 32;

enum class Wait { none, block, warp, ended };

struct Fiber {
  std::unique_ptr<std::byte[]> stack;
  void* at = nullptr;
  Wait wait = Wait::ended;
};

struct Machine {
  Fiber fibers[most_threads];
  alignas(16) std::byte slots[most_threads][16];
  void* scheduler = nullptr;
  unsigned running = 0;
  unsigned threads = 0;
  const std::function<void()>* body = nullptr;
  std::mt19937 random{1};
};

Machine& machine() {
  static Machine m;
  return m;
}

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "emulation: %s (block %u, thread %u)\n", what, blockIdx.x,
               machine().running);
  std::abort();
}

void hand_over(Wait wait) {
  Machine& m = machine();
  Fiber& f = m.fibers[m.running];
  f.wait = wait;
  emulation_switch(&f.at, m.scheduler);
}

void enter() {
  (*machine().body)();
  hand_over(Wait::ended);
  die("an ended thread went on");
}

void start(Fiber& f) {
  if (!f.stack) f.stack = std::make_unique<std::byte[]>(stack_bytes);
  auto top = reinterpret_cast<uintptr_t>(f.stack.get() + stack_bytes) & ~uintptr_t{15};
  auto* frame = reinterpret_cast<void**>(top);
  *--frame = nullptr; // where enter would return to; leaves the stack as after a call
  *--frame = reinterpret_cast<void*>(&enter);
  frame -= 6; // the registers that the switch takes back
  f.at = frame;
  f.wait = Wait::none;
}

std::vector<unsigned> order(unsigned threads) {
  static const char* const choice = std::getenv("HITPROOF_EMULATION_ORDER");
  std::vector<unsigned> list(threads);
  for (unsigned i = 0; i < threads; ++i)
    list[i] = i;
  const std::string_view name = choice == nullptr ? "shuffled" : choice;
  if (name == "backward") std::reverse(list.begin(), list.end());
  if (name == "shuffled") std::shuffle(list.begin(), list.end(), machine().random);
  return list;
}

// Releases a warp whose lanes all wait for it. A lane that has ended is missing for ever.
bool release_warp(Machine& m, unsigned first) {
  unsigned waiting = 0, ended = 0;
  for (unsigned i = first; i < first + lanes; ++i) {
    waiting += m.fibers[i].wait == Wait::warp;
    ended += m.fibers[i].wait == Wait::ended;
  }
  if (waiting > 0 && waiting + ended == lanes && ended > 0)
    die("a warp operation without all lanes");
  if (waiting < lanes) return false;
  for (unsigned i = first; i < first + lanes; ++i)
    m.fibers[i].wait = Wait::none;
  return true;
}

bool release_block(Machine& m) {
  bool any = false;
  for (unsigned i = 0; i < m.threads; ++i) {
    if (m.fibers[i].wait == Wait::warp) return false;
    any = any || m.fibers[i].wait == Wait::block;
  }
  for (unsigned i = 0; any && i < m.threads; ++i) {
    if (m.fibers[i].wait == Wait::block) m.fibers[i].wait = Wait::none;
  }
  return any;
}

void run_block(Machine& m) {
  for (unsigned i = 0; i < m.threads; ++i)
    start(m.fibers[i]);
  while (true) {
    for (const unsigned i : order(m.threads)) {
      if (m.fibers[i].wait != Wait::none) continue;
      m.running = i;
      threadIdx = {i, 0, 0};
      emulation_switch(&m.scheduler, m.fibers[i].at);
    }
    bool released = false;
    for (unsigned first = 0; first < m.threads; first += lanes)
      released = release_warp(m, first) || released;
    if (released || release_block(m)) continue;
    for (unsigned i = 0; i < m.threads; ++i) {
      if (m.fibers[i].wait != Wait::ended) die("threads wait for ever");
    }
    return;
  }
}

} // namespace

void sync_block() { hand_over(Wait::block); }
void sync_warp() { hand_over(Wait::warp); }
std::byte* lane_slot(unsigned lane) {
  Machine& m = machine();
  return m.slots[m.running / lanes * lanes + lane];
}

cudaError_t run(const cudaLaunchConfig_t& config, const std::function<void()>& thread) {
  Machine& m = machine();
  const dim3 grid = config.gridDim;
  m.threads = config.blockDim.x;
  const bool fits = grid.x > 0 && grid.y > 0 && grid.y <= 65535 && grid.z == 1 && m.threads > 0 &&
                    m.threads <= most_threads && m.threads % lanes == 0 &&
                    config.dynamicSmemBytes <= sizeof hitproof::kernels::cuda::shared_memory;
  if (!fits) return cudaErrorInvalidValue;
  m.body = &thread;
  gridDim = grid;
  blockDim = config.blockDim;
  for (unsigned y = 0; y < grid.y; ++y) {
    for (unsigned x = 0; x < grid.x; ++x) {
      blockIdx = {x, y, 0};
      std::memset(hitproof::kernels::cuda::shared_memory, 0xff, config.dynamicSmemBytes);
      run_block(m);
    }
  }
  return cudaSuccess;
}

} // namespace emulation

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidValue ? "invalid argument" : "out of memory";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*memory, 0xff, bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, size_t bytes) { return cudaMalloc(memory, bytes); }
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
