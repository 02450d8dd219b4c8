// Frames over Unix stream sockets: u32 length (little endian), then the CBOR of one message.
//
// An address is a file system path, or "@name" for Linux's abstract namespace, which leaves nothing
// behind when a process is killed. A channel is used by one thread at a time in each direction.
#pragma once

#include "engine/runtime/protocol.h"

#include <optional>
#include <string>
#include <utility>

namespace hitproof::engine {

// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// The other side has closed the channel or died.
struct PeerGone : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Channel {
 public:
  static constexpr uint32_t max_frame = 64u << 20;

  Channel() = default;
  Channel(Fd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  // Throws PeerGone, or std::system_error.
  void send(const Message& message);

  // The next message; empty after `timeout_ms` without the first byte of one (-1: waits for ever).
  // Throws PeerGone at the end of the stream (also inside a frame) and ProtocolError for a
  // malformed frame.
  std::optional<Message> receive(int timeout_ms = -1);

  // The next message, which must be an M. A Failure from the peer becomes a runtime_error with its
  // text.
  template <class M> M expect() {
    std::optional<Message> message = receive();
    if (!std::holds_alternative<M>(*message)) unexpected(*message);
    return std::get<M>(std::move(*message));
  }

  int fd() const { return fd_.get(); }
  const std::string& peer() const { return peer_; }
  bool open() const { return static_cast<bool>(fd_); }
  void close() { fd_ = Fd(); }

 private:
  [[noreturn]] void unexpected(const Message& message) const;
  void read_exactly(uint8_t* data, size_t bytes);

  Fd fd_;
  std::string peer_; // for messages: "cache server", "rank 2"
};

// A connected pair, both ends close-on-exec (clear that on the end a child shall inherit:
// `inherit`).
std::pair<Fd, Fd> socket_pair();
void inherit(int fd);

struct Listener {
  Fd fd;
  std::string address;
};

// Listens at a path or "@name"; an empty address takes a free abstract one. A stale socket file
// (nobody accepts) is replaced. Throws std::runtime_error that names the address.
Listener listen_at(const std::string& address);
Fd accept_from(int listener);

// Tries until `timeout_ms` has passed, because the server may be starting.
Fd connect_to(const std::string& address, int timeout_ms = 10000);

} // namespace hitproof::engine
