// The external cache server: host memory, the ranks' device memory imported by IPC, and the copies
// between them.
#pragma once

#include <cstdint>
#include <string>

namespace hitproof::engine {

struct ServerOptions {
  int listen_fd = -1;                       // inherited listening socket; or, where it is -1:
  std::string listen;                       // address to listen at (channel.h)
  uint64_t limit_bytes = uint64_t{1} << 30; // pinned host memory for objects
  // On a GPU: pinning may wait for work on the device, and that work for the callbacks of earlier
  // saves, which take the store's lock; so no memory is pinned once transfers run.
  bool pin_at_start = false;
  int gpu = 0;            // the device that a thread without a rank of its own works for
  std::string break_name; // in force for every rank; a rank's own (Register) is for that rank
  bool exit_with_front =
      true; // ends when the last front (Hello) has gone; false: runs until Shutdown or SIGTERM
};

// Returns the exit status; throws nothing.
int run_cache_server(const ServerOptions& options);

} // namespace hitproof::engine
