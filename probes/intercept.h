// What every wrapper does around the real call: find it, let it run, observe it once.
#pragma once

#include "probes/cupti_bytes.h"
#include "probes/hook_table.h"
#include "probes/process_state.h"
#include "schema/clock.h"
#include "schema/journal.h"
#include "schema/thread_clock.h"

#include <cerrno>
#include <cstdint>

#define HITPROOF_EXPORT extern "C" __attribute__((visibility("default")))

namespace hitproof::probes {

struct Transfer;

struct ThreadState {
  std::uint32_t depth = 0; // > 0: inside a recorded call, or inside the probe's own work
  // Where the outermost of them stands on the stack, and the return address there.
  void* const* frame = nullptr;
  const void* returns_to = nullptr;
  std::int32_t device = 0;
  std::uint64_t call_seq = 0; // copy calls of this thread
  static constexpr std::size_t max_open = 8;
  Transfer* open[max_open] = {}; // announced by this thread, not closed yet
  std::uint32_t open_count = 0;  // of them not null, those that another thread closed included
};
// initial-exec: the library is loaded at start, and the address must not be computed by a call.
extern thread_local constinit ThreadState thread_state __attribute__((tls_model("initial-exec")));

// The function that a wrapper goes on to: behind an exported name the next one, behind a pointer
// that was looked up what the look-up meant. Another library's hook may have looked the call up in
// a way that led it to this wrapper, and come back: from there on the way leads to the CUDA
// library. That is seen by the caller's address (`from`): in that library, or, where it jumped, in
// the probe. No destructor: calls end by exceptions, cancellation and jumps as well.
class Onward {
 public:
  Onward(Hook hook, unsigned slot, const void* from) noexcept : function_(real_function(hook)) {
    if (hook_state[index_of(hook)].foreign.load(std::memory_order_relaxed)) pass(hook, slot, from);
  }

  template <class F> F as() const noexcept { return reinterpret_cast<F>(function_); }
  bool came_back() const noexcept { return came_back_; }

 private:
  void pass(Hook hook, unsigned slot, const void* from) noexcept;

  void* function_;
  bool came_back_ = false;
};

// Only from functions whose frame lasts as long as the guard.
[[gnu::always_inline]] inline void go_deeper() noexcept {
  if (thread_state.depth++ != 0) return;
  thread_state.frame = static_cast<void* const*>(__builtin_frame_address(0));
  thread_state.returns_to = __builtin_return_address(0);
}

// Makes the probe's own CUDA calls invisible to its hooks.
class DepthGuard {
 public:
  [[gnu::always_inline]] DepthGuard() noexcept { go_deeper(); }
  ~DepthGuard() { --thread_state.depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
};

// One observed call. A runtime call that calls the driver is recorded once, at the level of its
// first entry: the depth keeps the inner wrappers silent.
class Call {
 public:
  [[gnu::always_inline]] Call(Hook hook, bool on_per_thread_stream,
                              std::uint32_t asked_version) noexcept
      : id(hook), per_thread(on_per_thread_stream), version(asked_version) {
    go_deeper();
    begin_ns = schema::ThreadClock::before();
  }
  ~Call() {
    --thread_state.depth;
    errno = errno_;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void returned(int code) noexcept {
    end_ns = schema::ThreadClock::after();
    errno_ = errno;
    result = code;
    hook_state[index_of(id)].calls.fetch_add(1, std::memory_order_relaxed);
  }
  HookState& state() const noexcept { return hook_state[index_of(id)]; }

  const Hook id;
  const bool per_thread;
  const std::uint32_t version;
  int result = 0;
  std::uint64_t begin_ns = 0, end_ns = 0;

 private:
  const CallUnderWay under_way_;
  int errno_ = 0;
};

// A signal handler or another tool jumped out of a call: its frame is gone. The call's record is
// counted as lost, and the thread records again. `here`: the frame of the wrapper that asks.
bool left_by_jump(const void* here) noexcept;

[[gnu::always_inline]] inline bool observes() noexcept {
  return (thread_state.depth == 0 || left_by_jump(__builtin_frame_address(0))) && recording();
}

// Appends a record of this thread; counts it as lost at `state` where that fails.
template <class R> void put(HookState& state, const R& record, std::uint64_t t_ns) noexcept {
  if (!schema::journal(record, t_ns)) state.dropped.fetch_add(1, std::memory_order_relaxed);
}

} // namespace hitproof::probes
