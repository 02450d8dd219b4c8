// The table `performance_trials`: what a performance study's requests did, beside their times. By
// prompt length: how many were measured and set aside, what the repeats did, whether every reload was
// one, and whether all answers to an input agree.
#pragma once

#include "audit/context.h"
#include "audit/table.h"

namespace hitproof::audit {

// No rows where the recording is of no such study.
Table trials_table(Context& context);

} // namespace hitproof::audit
