#include "engine/runtime/cache_server.h"

#include "engine/runtime/channel.h"
#include "engine/runtime/front_session.h"
#include "engine/runtime/kernel_library.h"
#include "engine/runtime/last_words.h"
#include "engine/runtime/rank_session.h"
#include "probes/hitproof.h"

#include <cerrno>
#include <cstdio>
#include <list>
#include <mutex>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace hitproof::engine {
namespace {

int signal_fd = -1; // written by the handler, hence global

void on_signal(int) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(signal_fd, &one, sizeof one);
}

class Server {
 public:
  Server(const ServerOptions& options, Listener listener)
      : options_(options), listener_(std::move(listener)), stop_(::eventfd(0, EFD_CLOEXEC)),
        state_(options.limit_bytes, find_break(options.break_name)) {
    if (!stop_) throw std::runtime_error("cannot make an event descriptor");
  }

  void run();
  bool undrained() const { return state_.undrained; }

 private:
  struct Connection {
    Channel channel;
    std::thread thread;
    bool ended = false;
  };
  void serve(Connection& connection);
  void talk(Channel& channel);
  void stop() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(stop_.get(), &one, sizeof one);
  }
  void collect(bool all);
  void pin_memory();

  const ServerOptions& options_;
  Listener listener_;
  Fd stop_;
  ServerState state_;
  std::mutex mutex_; // of connections_ and fronts_
  std::list<Connection> connections_;
  int fronts_ = 0;
};

void Server::talk(Channel& channel) {
  const Message first = *channel.receive();
  if (const auto* registration = std::get_if<Register>(&first)) {
    RankSession session(state_, channel, *registration);
    session.serve();
  } else if (const auto* hello = std::get_if<Hello>(&first)) {
    {
      const std::lock_guard lock(mutex_);
      ++fronts_;
    }
    bool shut_down = false;
    std::exception_ptr failure;
    try {
      shut_down = serve_front(state_, channel, *hello);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    const bool last = --fronts_ == 0;
    if (last && options_.exit_with_front) shut_down = true;
    if (shut_down) stop();
    if (failure) std::rethrow_exception(failure);
  } else {
    throw ProtocolError(std::string("a connection began with ") + message_name(first));
  }
}

void Server::serve(Connection& connection) {
  try {
    talk(connection.channel);
  } catch (const PeerGone&) {
    // The usual end of a connection.
  } catch (const std::exception&) {
    const std::string text = last_words(std::current_exception());
    std::fprintf(stderr, "cache server: %s\n", text.c_str());
    try {
      connection.channel.send(Failure{text});
    } catch (const std::exception&) {
      // Told already on stderr; the peer sees the connection end.
    }
  }
  // The peer must see the end now, the thread is joined later.
  ::shutdown(connection.channel.fd(), SHUT_RDWR);
  const std::lock_guard lock(mutex_);
  connection.ended = true;
}

void Server::collect(bool all) {
  std::list<Connection> ended;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = connections_.begin(); at != connections_.end();) {
      const auto next = std::next(at);
      if (all) ::shutdown(at->channel.fd(), SHUT_RDWR);
      if (!all && at->ended) ended.splice(ended.end(), connections_, at);
      at = next;
    }
  }
  // No thread starts or leaves the list any more when all are collected, so it may be walked
  // without the lock.
  for (Connection& c : all ? connections_ : ended)
    c.thread.join();
}

void Server::pin_memory() {
  try {
    state_.store.pin_all();
  } catch (const device::DeviceError& e) {
    throw EnvironmentError("the external cache cannot pin its " +
                           std::to_string(options_.limit_bytes >> 20) + " MiB of host memory (" +
                           e.what() +
                           "); give it less with --external-bytes, or run where more memory is "
                           "free (free -m, and the container's limit)");
  }
}

void Server::run() {
  device::select(options_.gpu);
  if (options_.pin_at_start) pin_memory();
  signal_fd = stop_.get();
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  for (;;) {
    pollfd wait[2] = {{listener_.fd.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(wait, 2, -1) < 0 && errno != EINTR)
      throw std::runtime_error("cannot wait for connections");
    if (wait[1].revents != 0) break;
    collect(false);
    if ((wait[0].revents & POLLIN) == 0) continue;
    Fd fd = accept_from(listener_.fd.get());
    const std::lock_guard lock(mutex_);
    Connection& connection = connections_.emplace_back();
    connection.channel = Channel(std::move(fd), "client of the cache server");
    connection.thread = std::thread([this, &connection] { serve(connection); });
  }
  collect(true);
}

} // namespace

int run_cache_server(const ServerOptions& options) {
  HITPROOF_CALL(process, ("cache_server", -1));
  int status = 0;
  try {
    const bool inherited = options.listen_fd >= 0;
    Listener listener = inherited ? Listener{Fd(options.listen_fd), ""} : listen_at(options.listen);
    const std::string address = listener.address;
    if (!inherited) std::fprintf(stderr, "cache server: listening at %s\n", address.c_str());
    Server server(options, std::move(listener));
    server.run();
    if (!inherited && address[0] != '@') ::unlink(address.c_str());
    if (server.undrained()) {
      // A stream that waits for a dead rank would keep the ordinary end of the process waiting too.
      HITPROOF_CALL(flush, ());
      ::_exit(0);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cache server: %s\n", last_words(std::current_exception()).c_str());
    status = dynamic_cast<const EnvironmentError*>(&e) != nullptr ? 2 : 1;
  }
  HITPROOF_CALL(flush, ());
  return status;
}

} // namespace hitproof::engine
