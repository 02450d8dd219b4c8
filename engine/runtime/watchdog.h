// Ends the process when a peer dies while the main thread waits for the device, where no socket
// would wake it.
#pragma once

#include "engine/runtime/channel.h"

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace hitproof::engine {

class Watchdog {
 public:
  struct Watched {
    int fd = -1;
    std::string name;
    int grace_ms = 0; // time for the main thread to notice by itself and end in order
  };
  // on_death: called on the watchdog's thread with the name; it ends the process.
  Watchdog(std::vector<Watched> watched, std::function<void(const std::string&)> on_death);
  ~Watchdog(); // from here on nothing is ended
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void run();

  std::vector<Watched> watched_;
  std::function<void(const std::string&)> on_death_;
  Fd stop_;
  std::thread thread_;
};

} // namespace hitproof::engine
