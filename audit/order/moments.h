// The calls of a recording as moments in the order of time, and their threads, streams and events
// by small numbers.
#pragma once

#include "audit/order/records.h"

#include <cstdint>
#include <vector>

namespace hitproof::audit::order {

inline constexpr std::uint32_t no_number = UINT32_MAX;

// At one time ends come first: what ended comes before what begins. A fact is both at once.
enum class Phase : std::uint8_t { end, fact, begin };

struct Moment {
  std::int64_t at = 0;
  std::uint32_t record = no_record;
  Phase phase = Phase::fact;
};

// Of one record; no_number where it names none, or where a handle means several things: the default
// streams of a process that uses several devices are one to each.
struct Numbers {
  std::uint32_t process = no_number, thread = no_number, stream = no_number, event = no_number;
};

struct Moments {
  std::vector<Moment> moments;  // ascending
  std::vector<Numbers> numbers; // by record
  std::uint32_t processes = 0, threads = 0, streams = 0, events = 0;
  std::vector<std::int32_t> only_device; // of each process; -1 where there are several, or none
};

Moments moments_of(const std::vector<Record>& records);

} // namespace hitproof::audit::order
