// Collectives over device memory: ranks that share a GPU, or whose GPUs reach each other's memory.
//
// Promise: the same bits as the shared-memory collectives, because sums are made in rank order by
// the same additions. Pointers are device memory. Operations are enqueued on the given stream and
// the host waits for its peers only (a few microseconds), never for the device. What the host side
// promises holds here too: an operation whose peer has gone throws CollectiveError.
#pragma once

#include "engine/runtime/collectives.h"
#include "engine/runtime/device.h"
#include "kernels/model/table.h"

namespace hitproof::engine {

inline constexpr size_t device_slot_bytes = size_t{16} << 20;

// Two slots of slot_bytes (a multiple of 256) and two events a rank, exchanged over `host`; larger
// operations go in pieces. Every rank of `host` calls it. `host`, `kernels` and `stream` outlive
// the result, whose destructor waits for the stream and meets the peers once more. Throws
// DeviceError where the peers' memory cannot be opened.
std::unique_ptr<Collectives> open_device_collectives(Collectives& host,
                                                     const kernels::ModelKernels& kernels,
                                                     const device::Stream& stream,
                                                     size_t slot_bytes = device_slot_bytes);

} // namespace hitproof::engine
