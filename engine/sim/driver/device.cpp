#include "engine/sim/driver/device.h"

#include "engine/sim/driver/stream.h"

#include <array>
#include <atomic>
#include <pthread.h>

namespace hitproof::sim {
namespace {

enum class Phase : int { cold, ready, forked };
std::atomic<Phase> phase{Phase::cold};
std::atomic<int> retained{0};
std::atomic<unsigned> context_flags{0};
char context_storage; // its address is the handle

// Plain memory, so that a thread's last destructors may still call.
struct ContextStack {
  std::array<CUcontext, 32> contexts;
  size_t depth;
};
thread_local ContextStack context_stack;

} // namespace

bool forked() { return phase.load(std::memory_order_relaxed) == Phase::forked; }

CUresult ready() {
  return phase.load(std::memory_order_acquire) == Phase::ready ? CUDA_SUCCESS
                                                               : CUDA_ERROR_NOT_INITIALIZED;
}

void initialize() {
  Phase cold = Phase::cold;
  if (phase.compare_exchange_strong(cold, Phase::ready))
    pthread_atfork(nullptr, nullptr, [] { phase = Phase::forked; });
}

CUresult ready_for_work() {
  if (CUresult state = ready(); state != CUDA_SUCCESS) return state;
  if (on_stream_worker()) return CUDA_ERROR_NOT_PERMITTED;
  return current_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUcontext primary_context() { return reinterpret_cast<CUcontext>(&context_storage); }

CUcontext current_context() {
  return context_stack.depth ? context_stack.contexts[context_stack.depth - 1] : nullptr;
}

void set_current_context(CUcontext context) {
  pop_context();
  if (context) push_context(context);
}

bool push_context(CUcontext context) {
  if (context != primary_context() || context_stack.depth == context_stack.contexts.size())
    return false;
  context_stack.contexts[context_stack.depth++] = context;
  return true;
}

CUcontext pop_context() {
  return context_stack.depth ? context_stack.contexts[--context_stack.depth] : nullptr;
}

void retain_primary() { retained.fetch_add(1); }

bool release_primary() {
  int count = retained.load();
  while (count > 0)
    if (retained.compare_exchange_weak(count, count - 1)) return true;
  return false;
}

void reset_primary() { retained = 0; }
bool primary_active() { return retained.load() > 0; }
unsigned primary_flags() { return context_flags.load(); }
void set_primary_flags(unsigned flags) { context_flags = flags; }

} // namespace hitproof::sim
