// What a plan asks of an arm, operation by operation: the one place that says which cases a kind of
// study has and in which order they run. Studies run this list; the auditor counts it.
//
//   boundary     a case is a length: cold, two interposed prompts, reset, reload
//   continuation the same of every template and length, after the bridge (a case of a boundary
//                study, which ties both studies together)
//   performance  a case is a trial of a length: cold and its immediate repeat; the candidate then
//                resets its device cache and reloads
#pragma once

#include "schema/plan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hitproof::schema {

struct PlannedOperation {
  std::size_t case_index = 0;
  std::uint32_t length = 0; // prompt tokens
  std::uint32_t tokens = 0; // to generate
  const char* kind = "";    // cold, interpose, repeat, reset, reload
  char which = ' ';         // prompt A, X or Y; ' ' for a reset
  std::string prompt_template;
  std::uint32_t trial = 0; // from 1; 0 where the study has none
  bool warmup = false;
  bool generates() const { return which != ' '; }
};

// In order of running. `arm` is control or candidate. The plan is valid.
std::vector<PlannedOperation> operations_of(const Plan& plan, const std::string& arm);

// Its sums, for messages and for whoever checks a plan before it runs.
struct PlannedTotals {
  std::uint64_t cases = 0, operations = 0, generations = 0, measured = 0, inputs = 0, tokens = 0;
};
PlannedTotals totals_of(const Plan& plan, const std::string& arm);

} // namespace hitproof::schema
