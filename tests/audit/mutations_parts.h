// What the lists of mutations share: names for rows of the small study.
#pragma once

#include "tests/audit/mutations.h"

// Small study: two ranks, chunk 128, N = 255, 256, 257. Entry 3 is an MLA page, 30 a state, 60 a
// tail. A load is any transfer with direction 1; "one" is the first by id.
#define ONE_LOAD "(SELECT MIN(transfer) FROM transfer WHERE direction = 1)"
#define ONE_SAVE "(SELECT MIN(transfer) FROM transfer WHERE direction = 0)"
#define MORE_LOADS "(SELECT transfer FROM transfer WHERE direction = 1)"
// A save whose pages were really copied.
#define COPIED_SAVE "(SELECT MIN(c.transfer) FROM copy c WHERE c.direction = 0)"

namespace hitproof::audit::testing {

std::vector<Mutation> mutations_of_transfers(); // pages, poison, tails, waits, boundary, order
std::vector<Mutation> mutations_of_studies();   // generations, keys, control, crosscheck, evidence

} // namespace hitproof::audit::testing
