#include "engine/runtime/watchdog.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace hitproof::engine {

Watchdog::Watchdog(std::vector<Watched> watched, std::function<void(const std::string&)> on_death)
    : watched_(std::move(watched)), on_death_(std::move(on_death)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (!stop_) throw std::runtime_error("cannot make an event descriptor");
  thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void Watchdog::run() {
  std::vector<pollfd> wait{{stop_.get(), POLLIN, 0}};
  for (const Watched& w : watched_)
    wait.push_back({w.fd, POLLRDHUP, 0});
  for (;;) {
    if (::poll(wait.data(), wait.size(), -1) < 0) continue;
    if (wait[0].revents != 0) return;
    for (size_t i = 1; i < wait.size(); ++i) {
      if (wait[i].revents == 0) continue;
      pollfd stop = wait[0];
      if (::poll(&stop, 1, watched_[i - 1].grace_ms) > 0) return;
      on_death_(watched_[i - 1].name);
      return;
    }
  }
}

} // namespace hitproof::engine
