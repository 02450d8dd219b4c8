// The parts of put_together; for together.cpp alone.
#pragma once

#include "audit/together.h"

namespace hitproof::audit {

// Ok where the members can repeat one another, else the reason.
schema::Status check_repetitions(const std::vector<Dossier>& members);
// Rows that say how many generations of each member equal those of the first, by arm, in the shape
// of `table`: continuations side by side, two columns a member.
void add_agreement(const std::vector<Dossier>& members, Table& table);
// Of declared repetitions the points of all in one group; else each member's own groups, by number.
// Empty where the devices differ.
Timings timings_together(const std::vector<Dossier>& members, const TogetherOptions& options);

} // namespace hitproof::audit
