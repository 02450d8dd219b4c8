#include "cli/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace hitproof::cli {
namespace {

volatile std::sig_atomic_t signal_seen = 0;

void remember(int number) {
  signal_seen = 1;
  std::signal(number, SIG_DFL);
}

} // namespace

void watch_interrupts() {
  for (int number : {SIGINT, SIGTERM, SIGHUP})
    std::signal(number, remember);
  outlive(SIGPIPE);
}

void outlive(int number) {
  struct sigaction now {};
  sigaction(number, nullptr, &now);
  if (now.sa_handler != SIG_DFL) return; // the caller's wish
  now.sa_handler = [](int) {};
  now.sa_flags = SA_RESTART;
  sigaction(number, &now, nullptr);
}

bool interrupted() { return signal_seen != 0; }

} // namespace hitproof::cli
