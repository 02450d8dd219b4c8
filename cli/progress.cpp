#include "cli/progress.h"

#include "schema/clock.h"

#include <cstdio>
#include <unistd.h>

namespace hitproof::cli {
namespace {

std::string duration(double seconds) {
  char text[32];
  if (seconds < 60)
    std::snprintf(text, sizeof text, "%.0f s", seconds);
  else
    std::snprintf(text, sizeof text, "%d min %02d s", static_cast<int>(seconds) / 60,
                  static_cast<int>(seconds) % 60);
  return text;
}

} // namespace

Progress::Progress(std::string title, uint64_t total, bool quiet, std::string unit)
    : title_(std::move(title)), unit_(std::move(unit)), total_(total), quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) != 0), begin_ns_(schema::now()) {}

Progress::~Progress() {
  if (open_) std::fputc('\n', stderr);
}

void Progress::show(const std::string& line, bool last) {
  if (quiet_) return;
  if (terminal_)
    std::fprintf(stderr, "\r\033[K%s%s", line.c_str(), last ? "\n" : "");
  else
    std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(stderr);
  open_ = terminal_ && !last;
}

void Progress::update(uint64_t done, const std::string& now) {
  const uint64_t t = schema::now();
  const uint64_t pause = terminal_ ? 200'000'000ULL : 10'000'000'000ULL;
  if (last_ns_ != 0 && t - last_ns_ < pause) return;
  last_ns_ = t;
  const double seconds = static_cast<double>(t - begin_ns_) * 1e-9;
  std::string line = title_ + ": " + now;
  if (done > 0 && seconds > 0) {
    const double rate = static_cast<double>(done) / seconds;
    char text[96];
    std::snprintf(text, sizeof text, "  %3.0f %%  %.0f %s/s  %s left",
                  100.0 * static_cast<double>(done) / static_cast<double>(total_), rate,
                  unit_.c_str(), duration(static_cast<double>(total_ - done) / rate).c_str());
    line += text;
  }
  show(line, false);
}

void Progress::finish(const std::string& summary) {
  show(title_ + ": " + summary + " (" +
           duration(static_cast<double>(schema::now() - begin_ns_) * 1e-9) + ")",
       true);
}

} // namespace hitproof::cli
