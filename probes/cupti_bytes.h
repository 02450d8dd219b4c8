// The cross-check: bytes of copies as CUPTI's activity records give them, counted beside the ledger
// and by other means. Asked for with HITPROOF_CUPTI=1 (`hitproof run --cross-check`), because
// activity records cost more than the probe does. libcupti is loaded, never linked.
//
// What was counted is written with the coverage counters: `cupti:h2d`, `cupti:d2h`, `cupti:d2d`
// (calls and bytes), and `cupti:session`, whose `installed` says whether CUPTI answered, `calls`
// how many records there were and `dropped` how many it lost.
#pragma once

namespace hitproof::probes {

// Before the program makes its first CUDA call: contexts that exist already are not seen. Does
// nothing unless asked for.
void start_cupti() noexcept;
// Fetches what CUPTI still holds and writes the counters.
void flush_cupti() noexcept;
void forget_cupti_after_fork() noexcept;

} // namespace hitproof::probes
