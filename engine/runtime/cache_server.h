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
  std::string break_name; // in force for every rank; a rank's own (Register) is for that rank
  bool exit_with_front =
      true; // ends when the last front (Hello) has gone; false: runs until Shutdown or SIGTERM
};

// Returns the exit status; throws nothing.
int run_cache_server(const ServerOptions& options);

} // namespace hitproof::engine
