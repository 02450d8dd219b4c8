// A report as tables, in the forms of the paper: boundary matrix (its Table 4) and instrumented
// regression (its Table 5), and beside them rules and findings.
#pragma once

#include "audit/report.h"
#include "audit/table.h"

#include <vector>

namespace hitproof::audit {

Table boundary_matrix(const Report& report);
Table regression_table(const Report& report);
Table rule_table(const Report& report);
Table finding_table(const Report& report);

// All of them, in the order of reading.
std::vector<Table> report_tables(const Report& report);

// 2447265792 as "2,447,265,792".
std::string grouped(std::int64_t number);
// One number where all ranks agree, else all of them.
std::string per_rank(const std::vector<std::int64_t>& list);
// Index of the first token that differs, "-" for none, "not compared".
std::string difference_of(const ReloadRow& row);

} // namespace hitproof::audit
