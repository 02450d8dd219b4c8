// A process that owns device memory, as a rank does: started from the test program itself, steered
// by small packets.
#pragma once

#include "engine/runtime/device.h"

#include <cstdint>
#include <sys/types.h>
#include <vector>

namespace hitproof::engine {

class Owner {
 public:
  struct Packet;
  explicit Owner(uint64_t bytes); // allocates that much and exports it
  ~Owner();
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  const device::Handle& memory() const { return memory_; }
  void fill(uint64_t offset, uint64_t bytes, uint8_t value);  // as work on its stream
  std::vector<uint8_t> read(uint64_t offset, uint64_t bytes); // at once
  device::Handle record();                                    // an event behind the stream's work
  void hold();                                                // the stream starts nothing
  void release();
  bool wait(const device::Handle& event); // opens it and synchronises; false where that failed
  void kill();

 private:
  Packet ask(char op, uint64_t a = 0, uint64_t b = 0, const device::Handle& handle = {});

  int fd_ = -1;
  pid_t pid_ = 0;
  device::Handle memory_;
};

// For main: serves where the arguments say so; -1 where they do not, else the exit status.
int serve_as_owner(int argc, char** argv);

} // namespace hitproof::engine
