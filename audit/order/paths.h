// What rule order concludes from the graph: which loads and saves are ordered by a path of recorded
// calls, which are not, and some of the paths.
#pragma once

#include "audit/context.h"
#include "audit/report.h"

#include <set>
#include <string>
#include <vector>

namespace hitproof::audit::order {

struct Conclusions {
  std::int64_t loads_proved = 0, saves_proved = 0;
  // Not proved and not decided otherwise: one a transfer, the earliest first.
  std::vector<Subject> unproved;
  // Transfers that no path proves, whatever a query says of them; ascending.
  std::vector<std::int64_t> without_path;
  // Of the earliest proved load, the earliest proved save, and the first of `unproved` of each.
  std::vector<OrderPath> paths;
};

// `decided`: transfers that a query has already reported, which are left to it. Throws AuditError.
Conclusions conclusions_of(Context& context, const std::set<std::int64_t>& decided);

// Transfers of the recording in `dir` that no path proves, whatever a query says of them: for a
// program that runs the queries elsewhere and has no graph. Errors: those of opening a recording
// and of its queries.
schema::Result<std::vector<std::int64_t>> transfers_without_path(const std::string& dir);

} // namespace hitproof::audit::order
