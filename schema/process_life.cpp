#include "schema/process_life.h"

#include "schema/clock.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

namespace hitproof::schema {

bool writer_lives(const SegmentHeader& header) {
  const std::string process = "/proc/" + std::to_string(header.pid);
  std::ifstream file(process + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  // proc(5): pid (name) state ppid ... starttime is field 22; the name may hold spaces and
  // brackets.
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  std::string field;
  std::uint64_t start_ticks = 0;
  for (int number = 3; rest >> field && number <= 22; ++number) {
    if (number == 3 && (field == "Z" || field == "X")) return false;
    if (number == 22) start_ticks = std::strtoull(field.c_str(), nullptr, 10);
  }
  // A process that began after the journal did is another one. Its start counts the time that the
  // machine slept, the journal's clock does not; the difference is at most what it slept so far.
  timespec boot;
  clock_gettime(CLOCK_BOOTTIME, &boot);
  const double slept = static_cast<double>(boot.tv_sec) + 1e-9 * static_cast<double>(boot.tv_nsec) -
                       1e-9 * static_cast<double>(now());
  const double started =
      static_cast<double>(start_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  constexpr double slop = 1.0;
  // The thread that began the journal may be gone: another one of its process goes on in it.
  return started - slept <= 1e-9 * static_cast<double>(header.start_ns) + slop;
}

} // namespace hitproof::schema
