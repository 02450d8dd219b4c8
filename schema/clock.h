// The one clock of all records: CLOCK_MONOTONIC nanoseconds, comparable between the processes of a
// machine, never between machines or boots.
#pragma once

#include <cstdint>
#include <ctime>

namespace hitproof::schema {

inline std::uint64_t now() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

} // namespace hitproof::schema
