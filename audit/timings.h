// When the answers came: time to first token and total time of a study's generations, by what each
// request really did, in the form of the paper's performance table and figure.
//
// Trials that the study set aside as warm-ups are in none of it.
//
// Times are those of the recording's client, with whatever probes and delays were on. On a
// simulated device they say nothing about speed; whoever shows them names the device.
#pragma once

#include "audit/context.h"
#include "audit/table.h"

#include <optional>
#include <string>
#include <vector>

namespace hitproof::audit {

struct TimingPoint {
  std::string condition; // "OFF recomputed", "ON external reload", "OFF local reuse on repeat", ...
  std::int64_t op = 0, prompt_tokens = 0;
  double ttft_ms = 0, total_ms = 0;
  std::size_t run = 0; // repetition that it belongs to, from 0
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
  bool trials = false;             // of a performance study, whose trials and warm-ups are recorded
  std::vector<std::string> runs;   // names of the repetitions whose points are in one group
  Table table;                     // in the form of the paper's Table 7
};

inline constexpr std::int64_t point_limit = 2000;

// Empty where the recording has no study or its records carry no times.
Timings read_timings(Context& context);

// Every point, in order of running, control first: for groups over several recordings.
std::vector<TimingPoint> read_all_points(Context& context);

// An arm as it is attached: by which name, and whether its records tell warm-ups from trials.
struct TimedArm {
  std::string where; // "" for the recording under audit
  bool tells_warmups = false;
};
struct TimedArms {
  TimedArm own;
  std::optional<TimedArm> control;
};
// Those of `context`, under these names instead of its own.
TimedArms timed_arms(Context& context, const std::string& recording, const std::string& control);

// An expression: what a request did, in words, by the expression of its admission.source.
std::string path_words(const std::string& path);

// A SELECT of `v`, the times to the first token of one group.
std::string group_values(const TimedArms& arms, const std::string& condition,
                         std::int64_t prompt_tokens);
// One row with least, median and most of the values that `values` selects as `v`, as printed.
std::string spread_of(const std::string& values);

} // namespace hitproof::audit
