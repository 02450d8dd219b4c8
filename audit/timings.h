// When the answers came: time to first token and total time of a study's generations, by what each
// request really did, in the form of the paper's performance table and figure.
//
// Times are those of the recording's client, with whatever probes and delays were on. On a
// simulated device they say nothing about speed; whoever shows them names the device.
#pragma once

#include "audit/context.h"
#include "audit/table.h"

#include <string>
#include <vector>

namespace hitproof::audit {

struct TimingPoint {
  std::string condition; // "OFF recomputed", "ON recomputed", "ON external reload", ...
  std::int64_t op = 0, prompt_tokens = 0;
  double ttft_ms = 0, total_ms = 0;
};

// All points of one condition and prompt length; milliseconds.
struct TimingGroup {
  std::string condition;
  std::int64_t prompt_tokens = 0, points = 0;
  double median = 0, least = 0, most = 0; // of the time to first token
  Trace trace;                            // gives least, median and most, as printed
};

struct Timings {
  std::vector<TimingPoint> points; // in order of running, control first; at most `point_limit`
  std::vector<TimingGroup> groups; // by condition, then length
  std::int64_t left_out = 0;       // points beyond the limit; the groups have them all
  bool delayed = false;            // saves were delayed on purpose
  Table table;                     // in the form of the paper's Table 7
};

inline constexpr std::int64_t point_limit = 2000;

// Empty where the recording has no study or its records carry no times.
Timings read_timings(Context& context);

} // namespace hitproof::audit
