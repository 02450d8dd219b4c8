// Processes, threads, streams and events of a recording's calls by small numbers.
#pragma once

#include "audit/order/records.h"

#include <cstdint>
#include <vector>

namespace hitproof::audit::order {

inline constexpr std::uint32_t no_number = UINT32_MAX;

// Of one record; no_number where it names none, or where a handle means several things: the default
// streams of a process that uses several devices are one to each.
struct Numbers {
  std::uint32_t process = no_number, thread = no_number, stream = no_number, event = no_number;
};

struct Numbered {
  std::vector<Numbers> of; // by record
  std::uint32_t processes = 0, threads = 0, streams = 0, events = 0;
  std::vector<std::int32_t> only_device; // of each process; -1 where there are several, or none
};

Numbered numbered(const std::vector<Record>& records);

} // namespace hitproof::audit::order
