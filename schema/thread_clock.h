// The clock of records, read cheaply: the processor's time-stamp counter, turned into the
// CLOCK_MONOTONIC nanoseconds of now().
//
// Every thread keeps an anchor, one reading of both clocks, that holds for about a millisecond; the
// rate between them is measured over 10 ms to 1 s and shared by the process. So a time differs from
// now() by the error of that rate over a millisecond (a time daemon that slews the clock by one
// part in n adds a millisecond / n) plus that of one reading: mostly below 20 ns, 106 ns at worst
// in half a million readings on a busy machine. Times of processes compare as well as that. Within
// a thread times never go back. Where the counter is not invariant, the kernel does not keep its
// own time by it, or prepare() was not called, these functions are now().
#pragma once

#include "schema/clock.h"

#include <atomic>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace hitproof::schema {

class ThreadClock {
 public:
  // Finds out whether the counter can be trusted. Once in a process and again in a forked child,
  // before other threads read the clock. Reads a file: not for a hot path. Leaves errno.
  static void prepare() noexcept;

  // Before a call: no later than anything that the call does where others see it.
  static std::uint64_t before() noexcept {
#if defined(__x86_64__)
    return at(__rdtsc());
#else
    return now();
#endif
  }
  // After a call: no earlier than anything that the call has read. The processor would otherwise
  // read its counter while the call's last loads are still under way.
  static std::uint64_t after() noexcept {
#if defined(__x86_64__)
    _mm_lfence();
    return at(__rdtsc());
#else
    return now();
#endif
  }

 private:
#if defined(__x86_64__)
  struct Anchor {
    std::uint64_t ticks = 0, ns = 0;
    std::uint64_t rate = 0;    // nanoseconds a tick, 32 bits of fraction
    std::uint64_t lasts = 0;   // ticks for which it holds; 0: not at all
    std::uint64_t latest = 0;  // time given out last
    std::uint32_t version = 0; // odd while it changes: a signal handler may come in between
  };

  static std::uint64_t at(std::uint64_t ticks) noexcept {
    Anchor& a = anchor_;
    const std::uint32_t version = a.version;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint64_t passed = ticks - a.ticks;
    const bool holds = passed < a.lasts;
    const std::uint64_t ns = a.ns + ((passed * a.rate) >> 32);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!holds || (version & 1) != 0 || version != a.version) [[unlikely]]
      return anew();
    if (ns > a.latest) [[likely]]
      a.latest = ns;
    return a.latest;
  }
  static std::uint64_t anew() noexcept;

  static thread_local constinit Anchor anchor_ __attribute__((tls_model("initial-exec")));
#endif
};

} // namespace hitproof::schema
