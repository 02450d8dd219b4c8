// Collectives over NCCL, for ranks that have a GPU each.
//
// Promise: for two ranks the same bits as the shared-memory collectives, because a + b = b + a; for
// more the order of NCCL's ring, which is fixed for a size, a machine and a version (nccl::choices
// names what must agree). Pointers are device memory of the kernels' side. Operations are enqueued
// on the given stream; the host never waits for the device. A thread watches what is enqueued:
// where a peer has gone, NCCL reports an error, or an operation takes longer than the timeout, it
// aborts NCCL's work, so that the stream comes to its end, and check() and every later operation
// throw CollectiveError.
#pragma once

#include "engine/runtime/collectives.h"
#include "engine/runtime/device.h"
#include "kernels/model/table.h"

namespace hitproof::engine {

struct NcclOptions {
  int gpu = 0;                               // the device that the calling thread has selected
  std::chrono::milliseconds timeout{120000}; // of the set-up, and of an operation
  // Device memory for row counts that the ranks cannot share evenly; larger operations go in
  // pieces. At least a row of every rank.
  size_t scratch_bytes = size_t{16} << 20;
};

// Every rank of `host` calls it; `host`, `kernels` and `stream` outlive the result, whose
// destructor waits for the stream and meets the peers once more. Throws EnvironmentError where NCCL
// cannot be loaded, CollectiveError where the ranks have different versions or NCCL refuses.
std::unique_ptr<Collectives> open_nccl_collectives(Collectives& host,
                                                   const kernels::ModelKernels& kernels,
                                                   const device::Stream& stream,
                                                   const NcclOptions& options = {});

} // namespace hitproof::engine
