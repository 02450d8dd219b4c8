// Two more tables in the forms of the paper, from the records of a study: the numerical control
// (its Table 3, one row an archive) and the continuations (its Table 6).
#pragma once

#include "audit/context.h"
#include "audit/report.h"
#include "audit/table.h"

namespace hitproof::audit {

// Are the arms comparable: steps and kernel choices matched, and the first token that differs. The
// rungs of the paper's ladder are recordings of their own; export several archives together.
Table numerical_control_table(Context& context, const Report& report);

// What was generated and compared in each arm.
Table continuation_table(Context& context, const Report& report);

} // namespace hitproof::audit
