// What the table `performance` says about the trials of a performance study beside their times: how
// many requests were measured and set aside, what the repeats did, whether every reload was one, and
// whether all answers to an input agree.
#pragma once

#include "audit/timings.h"

namespace hitproof::audit {

std::vector<Column> columns_of_trials();

// Adds their cells to the last row of `table`, for the prompts of that length; 0: "-" in each, for
// a recording that is of no such study.
void add_trials(Context& context, const TimedArms& arms, std::int64_t prompt_tokens, Table& table);

} // namespace hitproof::audit
