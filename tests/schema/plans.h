// Plans of the kinds of studies, for tests that ask what their operations are or what they read.
#pragma once

#include "schema/plan.h"

#include <utility>
#include <vector>

namespace hitproof::schema {

// Every template at each length, and the bridge at the first.
inline Plan continuation_plan(std::vector<std::uint32_t> lengths) {
  Plan plan;
  plan.study = "continuation";
  plan.lengths = std::move(lengths);
  plan.tokens = 256;
  plan.templates = {"ledger", "rules", "code"};
  plan.bridge_length = plan.lengths.front();
  plan.bridge_tokens = 64;
  return plan;
}

// Three trials, one warm-up.
inline Plan performance_plan(std::vector<std::uint32_t> lengths) {
  Plan plan;
  plan.study = "performance";
  plan.lengths = std::move(lengths);
  plan.tokens = 128;
  plan.trials = 3;
  plan.warmups = 1;
  return plan;
}

} // namespace hitproof::schema
