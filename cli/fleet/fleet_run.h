// Takes archives one after the other into a fleet: memory does not grow with their number, a
// damaged one is named and left out, one that is there already is skipped.
#pragma once

#include "cli/fleet/fleet_sink.h"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hitproof::cli {

struct FleetOptions {
  std::vector<std::string> dirs;
  std::string list;    // a file with one folder a line, "-": stdin; empty: none
  bool audit = false;  // keep the verdicts of an audit on the spot
  bool paths = false;  // else, where nobody audits, say which transfers no path of calls proves
  bool strict = false; // stop at the first archive that cannot be taken
  bool quiet = false;
};

struct FleetSummary {
  std::int64_t added = 0, already_there = 0, rows = 0;
  std::vector<std::pair<std::string, schema::Status>> left_out; // folder and why
  std::map<std::string, std::int64_t> verdicts;                 // of the added ones, where audited
  // 0; 4 where an archive was damaged; 2 where one could not be read at all; 3 where one was never
  // closed.
  int exit_code = 0;
};

// The Status is not ok where the sink or the list failed: then nothing further was taken, and what
// was is there. Complains on stderr about each archive that is left out.
schema::Status take_fleet(const FleetOptions& options, FleetSink& sink, FleetSummary& summary);

// One JSON object, or "3 archives added, 1 there already, ...".
std::string fleet_json(const FleetSummary& summary, const std::string& out);
std::string fleet_sentence(const FleetSummary& summary);

} // namespace hitproof::cli
