#include "tests/runtime/owner.h"

#include "engine/sim/latch.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::engine {

struct Owner::Packet {
  char op;
  uint64_t a, b;
  uint8_t handle[64];
  uint8_t data[2048];
};

Owner::Owner(uint64_t bytes) {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) != 0)
    throw std::runtime_error("no socket pair");
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(fds[0]);
    ::execl("/proc/self/exe", "owner", "--owner", std::to_string(fds[1]).c_str(), nullptr);
    ::_exit(127);
  }
  ::close(fds[1]);
  fd_ = fds[0];
  const Packet reply = ask('a', bytes);
  memory_.assign(reply.handle, reply.handle + sizeof reply.handle);
}

Owner::~Owner() {
  ::close(fd_);
  ::waitpid(pid_, nullptr, 0);
}

Owner::Packet Owner::ask(char op, uint64_t a, uint64_t b, const device::Handle& handle) {
  Packet packet{};
  packet.op = op;
  packet.a = a;
  packet.b = b;
  if (!handle.empty()) std::memcpy(packet.handle, handle.data(), sizeof packet.handle);
  if (::send(fd_, &packet, sizeof packet, MSG_NOSIGNAL) < 0 ||
      ::recv(fd_, &packet, sizeof packet, 0) <= 0)
    throw std::runtime_error("the owner has gone");
  return packet;
}

void Owner::fill(uint64_t offset, uint64_t bytes, uint8_t value) {
  ask('f', offset, bytes, device::Handle(64, value));
}

std::vector<uint8_t> Owner::read(uint64_t offset, uint64_t bytes) {
  const Packet reply = ask('r', offset, bytes);
  return {reply.data, reply.data + bytes};
}

device::Handle Owner::record() {
  const Packet reply = ask('e');
  return {reply.handle, reply.handle + sizeof reply.handle};
}

void Owner::hold() { ask('h'); }
void Owner::release() { ask('l'); }
bool Owner::wait(const device::Handle& event) { return ask('w', 0, 0, event).a == 1; }

void Owner::kill() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

namespace {

// What orders this read behind the stream's work went through another process, where the thread
// sanitizer does not look.
__attribute__((no_sanitize("thread"))) void peek(uint8_t* to, const std::byte* from,
                                                 uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; ++i)
    to[i] = static_cast<uint8_t>(*const_cast<const volatile std::byte*>(from + i));
}

} // namespace

int serve_as_owner(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--owner") != 0) return -1;
  const int fd = std::atoi(argv[2]);
  device::Stream stream;
  std::list<device::Event> events;
  std::byte* memory = nullptr;
  Owner::Packet p{};
  while (::recv(fd, &p, sizeof p, 0) > 0) {
    const device::Handle handle(p.handle, p.handle + sizeof p.handle);
    if (p.op == 'a') {
      memory = static_cast<std::byte*>(device::allocate(p.a));
      const auto exported = device::export_memory(memory);
      std::memcpy(p.handle, exported.data(), exported.size());
    } else if (p.op == 'f') {
      device::enqueue(stream, [=] { std::memset(memory + p.a, p.handle[0], p.b); });
    } else if (p.op == 'r') {
      peek(p.data, memory + p.a, p.b);
    } else if (p.op == 'e') {
      events.push_back(device::Event::interprocess());
      events.back().record(stream);
      const auto exported = events.back().export_handle();
      std::memcpy(p.handle, exported.data(), exported.size());
    } else if (p.op == 'h') {
      hitproof_sim_latch_hold(static_cast<CUstream>(stream.get()));
    } else if (p.op == 'l') {
      hitproof_sim_latch_release(static_cast<CUstream>(stream.get()));
    } else if (p.op == 'w') {
      try {
        device::Event::import(handle).synchronize();
        p.a = 1;
      } catch (const device::DeviceError& e) {
        std::fprintf(stderr, "owner: %s\n", e.what());
        p.a = 0;
      }
    }
    ::send(fd, &p, sizeof p, MSG_NOSIGNAL);
  }
  stream.synchronize();
  return 0;
}

} // namespace hitproof::engine
