#include "cli/study/interrupt.h"

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
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return signal_seen != 0; }

} // namespace hitproof::cli
