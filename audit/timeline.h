// What happened when, as slices on tracks: operations, steps, saves, loads, copies, injected
// delays, waits, poison and tail reads; and which save each wait was for. Bounded: of each kind at
// most so many slices, the earliest; what was left out is counted.
#pragma once

#include "audit/context.h"
#include "audit/report.h"

#include <string>
#include <vector>

namespace hitproof::audit {

enum class SliceKind { operation, step, save, load, delay, copies, poison, tails, wait, ordering };

const char* slice_kind_name(SliceKind kind);

struct Slice {
  SliceKind kind = SliceKind::operation;
  std::int64_t process = 0;
  std::int64_t track = 0;                // thread, or the stream's handle where `on_stream`
  bool on_stream = false;                // stamped on the stream, not in a call
  std::int64_t begin_ns = 0, end_ns = 0; // after the recording's first record
  std::int64_t rank = -1, transfer = 0, request = 0;
  std::string words;
};

struct TimelineProcess {
  std::int64_t process = 0;
  std::string role; // "front", "rank", "cache_server"; of the study itself "client", process 0
  std::int64_t rank = -1;
};

struct Thinned {
  SliceKind kind = SliceKind::operation;
  std::int64_t shown = 0, all = 0;
};

// A path that proves an order: its records are slices of kind `ordering`, in its own order.
struct TimelinePath {
  bool load = false;
  std::int64_t transfer = 0, rank = 0;
  std::vector<std::pair<std::size_t, std::size_t>> joins; // slices of neighbours on it
  std::size_t shown = 0, records = 0;
};

struct Timeline {
  std::vector<TimelineProcess> processes;
  std::vector<Slice> slices;                           // by kind, then time
  std::vector<std::pair<std::size_t, std::size_t>> to; // save slice -> wait slice, by index
  std::vector<Thinned> thinned;                        // kinds of which not all are shown
  std::vector<TimelinePath> paths;
};

// `each` slices of a kind at most.
Timeline read_timeline(Context& context, std::int64_t each);

// Adds the paths of the report that prove an order, as far as they are shown (shown_paths.h).
void add_paths(Timeline& timeline, const Report& report);

} // namespace hitproof::audit
