// A second process for the tests of IPC: a program that does what it is told over a socket.
#pragma once

#include <cstdint>

namespace hitproof::sim::tests {

enum class Order : uint32_t {
  allocate,    // a: bytes, b: fill; answers with a handle
  open_memory, // handle
  close_memory,
  fill,       // a: value, b: offset, c: bytes; in the peer's stream
  read,       // b: offset; answers a: the byte there, after the stream
  make_event, // answers with a handle
  destroy_event,
  open_event,   // handle
  record_event, // in the peer's stream
  query_event,
  sync_event,
  wait_event, // the peer's stream waits
  hold,       // the peer's stream
  release,
  sync_stream,
  quit,
};

struct Message {
  Order order;
  uint32_t result; // CUresult of the answer
  uint64_t a, b, c;
  char handle[64];
};

} // namespace hitproof::sim::tests
