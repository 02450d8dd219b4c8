// The paths of calls that prove an order (audit/order) as exports show them: in words, as a table,
// and of a long one its begin and its end. `hitproof audit DIRECTORY --json` has all of them.
#pragma once

#include "audit/report.h"
#include "audit/table.h"

#include <cstddef>
#include <string>
#include <vector>

namespace hitproof::audit {

// Places in `path.records` that are shown, ascending: all of a path of 40 records, else the first
// 30 and the last 10.
std::vector<std::size_t> shown_of(const OrderPath& path);

// "Save 12, rank 0: 6 records lead from the step that wrote its pages to its copies."
std::string sentence_of(const OrderPath& path);

// What these paths stand for, and what is left out: "Shown are the earliest of 8 loads and ..."
std::string scope_of_paths(const RuleReport& rule);

// One row a shown record; no rows where the report has no path.
Table path_table(const Report& report);

} // namespace hitproof::audit
