#include "engine/runtime/channel.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace hitproof::engine {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

socklen_t fill(sockaddr_un& sun, const std::string& address) {
  sun = {};
  sun.sun_family = AF_UNIX;
  if (address.empty() || address.size() >= sizeof sun.sun_path)
    throw std::runtime_error("socket address \"" + address + "\" is empty or longer than " +
                             std::to_string(sizeof sun.sun_path - 1) + " characters");
  std::memcpy(sun.sun_path, address.data(), address.size());
  const auto head = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path));
  if (address[0] != '@') return head + static_cast<socklen_t>(address.size()) + 1;
  sun.sun_path[0] = '\0';
  return head + static_cast<socklen_t>(address.size());
}

Fd new_socket() {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) fail("cannot make a socket");
  return fd;
}

// A process that ends without a word was killed, most often because memory ran out.
std::string gone(const std::string& peer) {
  return "the " + peer +
         " has gone without a word (killed, or no memory left: its log may say more; limits are "
         "ulimit -v, or the container's)";
}

} // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

void Channel::send(const Message& message) {
  const Bytes body = encode(message);
  if (body.size() > max_frame)
    throw ProtocolError(std::string("message too large: ") + message_name(message));
  Bytes frame(4 + body.size());
  for (int i = 0; i < 4; ++i)
    frame[static_cast<size_t>(i)] = static_cast<uint8_t>(body.size() >> (8 * i));
  std::memcpy(frame.data() + 4, body.data(), body.size());
  size_t done = 0;
  while (done < frame.size()) {
    const ssize_t n = ::send(fd_.get(), frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno == EPIPE || errno == ECONNRESET) {
      throw PeerGone(gone(peer_));
    } else if (errno != EINTR) {
      fail("cannot send to the " + peer_);
    }
  }
}

void Channel::read_exactly(uint8_t* data, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::recv(fd_.get(), data + done, bytes - done, 0);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (n == 0 || errno == ECONNRESET) {
      throw PeerGone(gone(peer_));
    } else if (errno != EINTR) {
      fail("cannot receive from the " + peer_);
    }
  }
}

std::optional<Message> Channel::receive(int timeout_ms) {
  if (timeout_ms >= 0) {
    pollfd p{fd_.get(), POLLIN, 0};
    const int n = ::poll(&p, 1, timeout_ms);
    if (n < 0 && errno != EINTR) fail("cannot wait for the " + peer_);
    if (n <= 0) return std::nullopt;
  }
  uint8_t head[4];
  read_exactly(head, sizeof head);
  uint32_t bytes = 0;
  for (int i = 0; i < 4; ++i)
    bytes |= static_cast<uint32_t>(head[i]) << (8 * i);
  if (bytes > max_frame)
    throw ProtocolError("malformed frame from the " + peer_ + ": " + std::to_string(bytes) +
                        " bytes");
  Bytes body(bytes);
  read_exactly(body.data(), body.size());
  return decode(body);
}

void Channel::unexpected(const Message& message) const {
  if (const auto* failure = std::get_if<Failure>(&message))
    throw std::runtime_error(failure->message);
  throw ProtocolError("the " + peer_ + " sent " + message_name(message) + " where it should not");
}

std::pair<Fd, Fd> socket_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    fail("cannot make a socket pair");
  return {Fd(fds[0]), Fd(fds[1])};
}

void inherit(int fd) {
  const int flags = ::fcntl(fd, F_GETFD);
  if (flags < 0 || ::fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC) < 0)
    fail("cannot hand a descriptor on");
}

Listener listen_at(const std::string& address) {
  Listener listener{new_socket(), address};
  sockaddr_un sun{};
  if (address.empty()) {
    sun.sun_family = AF_UNIX; // this length alone asks the kernel for a free abstract name
    if (::bind(listener.fd.get(), reinterpret_cast<sockaddr*>(&sun), sizeof(sa_family_t)) != 0)
      fail("cannot listen at a free address");
    socklen_t length = sizeof sun;
    if (::getsockname(listener.fd.get(), reinterpret_cast<sockaddr*>(&sun), &length) != 0)
      fail("cannot read a socket's address");
    const size_t name = length - offsetof(sockaddr_un, sun_path);
    listener.address = "@" + std::string(sun.sun_path + 1, name - 1);
  } else {
    const socklen_t length = fill(sun, address);
    int bound = ::bind(listener.fd.get(), reinterpret_cast<sockaddr*>(&sun), length);
    if (bound != 0 && errno == EADDRINUSE && address[0] != '@') {
      const Fd probe = new_socket();
      if (::connect(probe.get(), reinterpret_cast<sockaddr*>(&sun), length) != 0 &&
          errno == ECONNREFUSED) {
        ::unlink(address.c_str());
        bound = ::bind(listener.fd.get(), reinterpret_cast<sockaddr*>(&sun), length);
      } else {
        errno = EADDRINUSE;
      }
    }
    if (bound != 0) fail("cannot listen at " + address);
  }
  if (::listen(listener.fd.get(), 64) != 0) fail("cannot listen at " + listener.address);
  return listener;
}

Fd accept_from(int listener) {
  for (;;) {
    Fd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (fd) return fd;
    if (errno != EINTR && errno != ECONNABORTED) fail("cannot accept a connection");
  }
}

Fd connect_to(const std::string& address, int timeout_ms) {
  sockaddr_un sun{};
  const socklen_t length = fill(sun, address);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    Fd fd = new_socket();
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&sun), length) == 0) return fd;
    const bool starting =
        errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN || errno == EINTR;
    if (!starting || std::chrono::steady_clock::now() >= end) fail("cannot connect to " + address);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

} // namespace hitproof::engine
