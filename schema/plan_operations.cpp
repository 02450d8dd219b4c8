#include "schema/plan_operations.h"

#include <set>
#include <tuple>

namespace hitproof::schema {
namespace {

using Operations = std::vector<PlannedOperation>;

// Template of the prompts that are a tag and pseudo-random ids.
constexpr const char* tagged = "tagged";

void add(Operations& list, const PlannedOperation& of_case, const char* kind, char which) {
  list.push_back(of_case);
  list.back().kind = kind;
  list.back().which = which;
}

void add_boundary_case(Operations& list, const PlannedOperation& of_case) {
  add(list, of_case, "cold", 'A');
  add(list, of_case, "interpose", 'X');
  add(list, of_case, "interpose", 'Y');
  add(list, of_case, "reset", ' ');
  add(list, of_case, "reload", 'A');
}

void add_trial(Operations& list, const PlannedOperation& of_case, bool candidate) {
  add(list, of_case, "cold", 'A');
  add(list, of_case, "repeat", 'A');
  if (!candidate) return;
  add(list, of_case, "reset", ' ');
  add(list, of_case, "reload", 'A');
}

} // namespace

Operations operations_of(const Plan& plan, const std::string& arm) {
  Operations list;
  PlannedOperation next;
  next.tokens = plan.tokens;
  next.prompt_template = tagged;
  if (plan.study == "performance") {
    // A trial runs over all lengths before the next begins, so that a machine that grows warm or
    // slow meets every length alike.
    for (std::uint32_t trial = 1; trial <= plan.warmups + plan.trials; ++trial) {
      next.trial = trial;
      next.warmup = trial <= plan.warmups;
      for (const std::uint32_t length : plan.lengths) {
        next.length = length;
        add_trial(list, next, arm == "candidate");
        ++next.case_index;
      }
    }
    return list;
  }
  const auto add_lengths = [&] {
    for (const std::uint32_t length : plan.lengths) {
      next.length = length;
      add_boundary_case(list, next);
      ++next.case_index;
    }
  };
  if (plan.study != "continuation") {
    add_lengths();
    return list;
  }
  if (plan.bridge_length != 0) {
    next.length = plan.bridge_length;
    next.tokens = plan.bridge_tokens;
    add_boundary_case(list, next);
    ++next.case_index;
    next.tokens = plan.tokens;
  }
  for (const std::string& name : plan.templates) {
    next.prompt_template = name;
    add_lengths();
  }
  return list;
}

PlannedTotals totals_of(const Plan& plan, const std::string& arm) {
  PlannedTotals sum;
  std::set<std::size_t> cases;
  std::set<std::tuple<std::size_t, char>> inputs;
  for (const PlannedOperation& op : operations_of(plan, arm)) {
    ++sum.operations;
    cases.insert(op.case_index);
    if (!op.generates()) continue;
    ++sum.generations;
    if (!op.warmup) ++sum.measured;
    sum.tokens += op.tokens;
    inputs.insert({op.case_index, op.which});
  }
  sum.cases = cases.size();
  sum.inputs = inputs.size();
  return sum;
}

} // namespace hitproof::schema
