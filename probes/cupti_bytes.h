// The cross-check: bytes of copies as CUPTI's activity records give them, counted beside the ledger
// and by other means. Asked for with HITPROOF_CUPTI=1 (`hitproof run --cross-check`), because
// activity records cost more than the probe does. libcupti is loaded, never linked.
//
// What was counted is written with the coverage counters: `cupti:h2d`, `cupti:d2h`, `cupti:d2d`
// (calls and bytes); `cupti:buffers`, which CUPTI asked for and gave back (`calls`) or kept
// (`dropped`); and `cupti:session`, whose `installed` says whether CUPTI answered to the end,
// `calls` how many records there were and `dropped` how many it lost. Why it did not answer is said
// once on stderr and in the `meta` record `crosscheck.refused`. `cupti:flush` comes before CUPTI is
// asked, at each end that may be one; `cupti:unsettled` says that other threads were in hooked
// calls then (`calls`) or made copies afterwards, so that the two counts need not agree.
//
// CUPTI serves one client at a time, and the probe asks for the place before anything else. A
// client that comes later asks too (torch.profiler then goes without a device's activities), or it
// takes the records over, and nothing says so: only buffers that do not come back, or no records at
// all beside copies that the ledger has.
#pragma once

#include <atomic>
#include <cstdint>

namespace hitproof::probes {

// Before the program makes its first CUDA call: contexts that exist already are not seen. Does
// nothing unless asked for.
void start_cupti() noexcept;
// A copy was recorded that CUPTI has to count too.
extern std::atomic<bool> activity_due;
// CUPTI has been asked for what it holds, because the process may end.
extern std::atomic<bool> cupti_asked_last;
void copied_after_cupti() noexcept;
inline void expect_activity() noexcept {
  if (!activity_due.load(std::memory_order_relaxed))
    activity_due.store(true, std::memory_order_relaxed);
  if (cupti_asked_last.load(std::memory_order_acquire)) [[unlikely]]
    copied_after_cupti();
}

// One hooked call, while it lasts; counted only where CUPTI counts too.
extern std::atomic<bool> cupti_counts;
extern std::atomic<std::uint32_t> calls_under_way;
class CallUnderWay {
 public:
  CallUnderWay() noexcept : counted_(cupti_counts.load(std::memory_order_relaxed)) {
    if (counted_) [[unlikely]]
      calls_under_way.fetch_add(1);
  }
  ~CallUnderWay() {
    if (counted_) [[unlikely]]
      calls_under_way.fetch_sub(1);
  }
  CallUnderWay(const CallUnderWay&) = delete;
  CallUnderWay& operator=(const CallUnderWay&) = delete;

 private:
  const bool counted_;
};

// Fetches what CUPTI still holds and writes the counters.
void flush_cupti() noexcept;
void forget_cupti_after_fork() noexcept;

} // namespace hitproof::probes
