// The broken engines: what each is, and which rules must, may and must not object
// (cli/data/breaks.toml).
#pragma once

#include "audit/report.h"

#include <string>
#include <vector>

namespace hitproof::cli {

struct BreakSpec {
  std::string name, what;
  std::vector<std::string> must;       // these rules have to fail
  std::vector<std::string> never_pass; // these have to fail or be inconclusive
  std::vector<std::string> may; // these may say what they like; every other rule stays silent
};

// The table compiled into the program. Throws std::runtime_error where it is malformed.
const std::vector<BreakSpec>& break_specs();

// Null for an unknown name.
const BreakSpec* find_break(const std::string& name);

// What is wrong with an audit of this broken engine; empty: caught by its own check and by no
// other.
std::vector<std::string> judge_break(const BreakSpec& spec, const audit::Report& report);

// The rules that failed, for a table: "waits, order".
std::string rules_with(const audit::Report& report, audit::Verdict verdict);

} // namespace hitproof::cli
