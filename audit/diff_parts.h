// How each part of two archives is compared; for diff.cpp alone.
#pragma once

#include "audit/context.h"
#include "audit/diff.h"

#include <map>

namespace hitproof::audit {

using Differences = std::vector<Difference>;

// Both sides as names with values; what only one side has shows as "-" on the other.
using Named = std::map<std::string, std::string>;
void compare_named(const std::string& part, const Named& a, const Named& b, Differences& out);

void compare_verdicts(const Report& a, const Report& b, Differences& out);
void compare_figures(const Report& a, const Report& b, Differences& out);
void compare_findings(const Report& a, const Report& b, Differences& out);
void compare_boundary(const Report& a, const Report& b, Differences& out);
// Attaches the recordings of `b` to `a`.
void compare_tokens(Context& a, Context& b, Differences& out);
void compare_plans(Context& a, Context& b, Differences& out);
// Facts of the recordings: formats, versions, device, arm, lookup; without times and counts.
void compare_versions(Context& a, Context& b, Differences& out);
// Named facts of the processes, by role.
void compare_environment(Context& a, Context& b, Differences& out);

} // namespace hitproof::audit
