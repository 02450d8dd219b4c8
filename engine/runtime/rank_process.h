// One tensor-parallel rank: device memory, model, connector, and the loop over the front's steps.
#pragma once

namespace hitproof::engine {

struct RankOptions {
  int rank = 0;
  int front_fd = -1;       // socket to the front process: RankStart comes first (protocol.h)
  int collectives_fd = -1; // memory made by create_collectives_memory; -1 where tp is 1
};

// Runs until Shutdown or the front's end. Returns the exit status: 0 after Shutdown or the front's
// end, 1 after a failure (told to the front as Failure and written to stderr). Throws nothing. Ends
// the process by _exit if the front or the cache server dies while the rank waits for the device.
int run_rank(const RankOptions& options);

} // namespace hitproof::engine
