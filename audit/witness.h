// The few records that prove a finding, in order of time and in plain words.
#pragma once

#include "audit/context.h"
#include "audit/report.h"

#include <span>

namespace hitproof::audit {

// Looks up the records about the finding's first subject in `tables` and fills `witness` and
// `query` (the first table's records, as a statement for the sqlite3 shell).
void add_witness(Context& context, std::span<const char* const> tables, Finding& finding);

// Names of all tables that a witness can cite.
std::vector<std::string> citable_tables();

} // namespace hitproof::audit
