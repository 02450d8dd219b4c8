// The cross-check: bytes of copies as CUPTI's activity records give them, counted beside the ledger
// and by other means. Asked for with HITPROOF_CUPTI=1 (`hitproof run --cross-check`), because
// activity records cost more than the probe does. libcupti is loaded, never linked.
//
// What was counted is written with the coverage counters: `cupti:h2d`, `cupti:d2h`, `cupti:d2d`
// (calls and bytes); `cupti:buffers`, which CUPTI asked for and gave back (`calls`) or kept
// (`dropped`); and `cupti:session`, whose `installed` says whether CUPTI answered to the end,
// `calls` how many records there were and `dropped` how many it lost. Why it did not answer is said
// once on stderr and in the `meta` record `crosscheck.refused`.
//
// CUPTI serves one client at a time, and the probe asks for the place before anything else. A
// client that comes later asks too (torch.profiler then goes without a device's activities), or it
// takes the records over, and nothing says so: only buffers that do not come back, or no records at
// all beside copies that the ledger has.
#pragma once

#include <atomic>

namespace hitproof::probes {

// Before the program makes its first CUDA call: contexts that exist already are not seen. Does
// nothing unless asked for.
void start_cupti() noexcept;
// A copy was recorded that CUPTI has to count too.
extern std::atomic<bool> activity_due;
inline void expect_activity() noexcept {
  if (!activity_due.load(std::memory_order_relaxed))
    activity_due.store(true, std::memory_order_relaxed);
}
// Fetches what CUPTI still holds and writes the counters.
void flush_cupti() noexcept;
void forget_cupti_after_fork() noexcept;

} // namespace hitproof::probes
