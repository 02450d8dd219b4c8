// More tables in the forms of the paper, from the records of a study: the conditions of both arms
// (its Table 2), the numerical control (its Table 3, one row an archive) and the continuations (its
// Table 6).
#pragma once

#include "audit/context.h"
#include "audit/report.h"
#include "audit/table.h"

namespace hitproof::audit {

// Stand under tables that the paper fills from several recordings; tables over several archives
// (together.h) leave them out.
extern const char* const one_recording_note;
extern const char* const one_rung_note;

// What both arms ran with, as far as the records say it: device, versions, model, schedule, kernel
// choices. A fact that no record holds has no row.
Table conditions_table(Context& context, const Report& report);

// Are the arms comparable: steps and kernel choices matched, and the first token that differs. The
// rungs of the paper's ladder are recordings of their own; export several archives together.
Table numerical_control_table(Context& context, const Report& report);

// What was generated and compared in each arm.
Table continuation_table(Context& context, const Report& report);
// The same by template and prompt length, with what each reload did; no rows where the recording is
// not of a continuation study.
Table continuation_cases_table(Context& context);

} // namespace hitproof::audit
