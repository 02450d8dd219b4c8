// A cache server in a process of its own: the test program, started once more.
#pragma once

#include "engine/runtime/channel.h"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace hitproof::engine {

class ServerProcess {
 public:
  explicit ServerProcess(uint64_t limit_bytes, const std::string& break_name = "",
                         bool exit_with_front = false);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& address() const { return address_; }
  Channel connect() const { return Channel(connect_to(address_), "cache server"); }
  void kill(int signal);
  int exit_status(); // waits for the end

 private:
  std::string address_;
  pid_t pid_ = 0;
  bool ended_ = false;
};

// For main: runs the server where the arguments say so; -1 where they do not, else the exit status.
int serve_as_cache_server(int argc, char** argv);

} // namespace hitproof::engine
