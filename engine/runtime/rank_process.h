// One tensor-parallel rank: device memory, model, connector, and the loop over the front's steps.
#pragma once

#include "kernels/model/table.h"

namespace hitproof::engine {

struct RankOptions {
  int rank = 0;
  int front_fd = -1;       // socket to the front process: RankStart comes first (protocol.h)
  int collectives_fd = -1; // memory made by create_collectives_memory; -1 where tp is 1
  int gpu = 0;             // ordinal of the device
  // A table of device kernels: the model then works on device memory and enqueues its own work.
  const kernels::ModelKernels* kernels = &kernels::cpu_model_kernels();
};

// Runs until Shutdown or the front's end. Returns the exit status: 0 after Shutdown or the front's
// end, 2 where this machine lacks what is needed, 1 after another failure (both told to the front
// as Failure and written to stderr). Throws nothing. Ends the process by _exit if the front or the
// cache server dies while the rank waits for the device.
int run_rank(const RankOptions& options);

} // namespace hitproof::engine
