// The latch of the simulated device: tests decide when each stream goes on. Exported by the
// simulated libcuda.so.1 only; a program that also runs on a GPU looks these up with dlsym.
//
// A held stream accepts work and starts none of it. Operations count one each: a copy, a whole
// batch, a fill, a host function, an event record, an event wait, a memory operation, a graph
// launch. `stream` is a handle of this process, or the null handle / 0x1 (legacy), or 0x2 (this
// thread's). All functions return 0, or -1 for a handle that is not a live stream.
#pragma once

#include "engine/sim/cuda_subset.h"

#include <cstdint>

extern "C" {
/// Hold: an operation that already runs is finished, no other is started.
int hitproof_sim_latch_hold(CUstream stream);

/// Let the next `operations` start, then hold again. Credits add up.
int hitproof_sim_latch_step(CUstream stream, uint64_t operations);

/// Take the latch off: everything pending runs.
int hitproof_sim_latch_release(CUstream stream);

/// Operations accepted and not finished; -1 for a bad handle.
int64_t hitproof_sim_latch_pending(CUstream stream);

/// Wait until at most `pending` operations are left; -1 also when `timeout_ms` has passed.
int hitproof_sim_latch_wait(CUstream stream, int64_t pending, int64_t timeout_ms);

/// Choose among legal orders from now on: of batch entries, of early or late reads of sources with
/// access order ANY, of graph nodes. 0: as given. The start value is HITPROOF_SIM_SEED.
void hitproof_sim_set_seed(uint64_t seed);

/// Break on purpose from now on: "short_copy", "lost_entry", "ignore_event", "no_ipc" (what another
/// process exports cannot be opened), or "" for sound work; -1 for another word. A number after a
/// colon ("short_copy:5") breaks every fifth only. The start value is HITPROOF_SIM_BREAK.
int hitproof_sim_set_break(const char* name);
}
