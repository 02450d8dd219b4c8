// What each kind of study asks of its arms: the counts of docs/studies.md 2.1 and sections 3 and 4.
#include "schema/plan_operations.h"
#include "tests/schema/plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::schema {
namespace {

using testing::ElementsAre;

Plan boundary() {
  Plan plan;
  plan.lengths = {3583, 3584, 3585, 3587, 3588, 3589, 5375, 5376, 5377};
  return plan;
}

Plan continuation() { return continuation_plan({3583, 3584, 5376}); }

Plan performance() { return performance_plan({3583, 3584, 5376}); }

std::vector<std::string> kinds(const Plan& plan, const std::string& arm, std::size_t of_case) {
  std::vector<std::string> list;
  for (const PlannedOperation& op : operations_of(plan, arm))
    if (op.case_index == of_case) list.emplace_back(op.kind);
  return list;
}

TEST(PlanOperations, BoundaryStudy) {
  const PlannedTotals t = totals_of(boundary(), "control");
  EXPECT_EQ(t.cases, 9u);
  EXPECT_EQ(t.operations, 45u);
  EXPECT_EQ(t.generations, 36u);
  EXPECT_EQ(t.inputs, 27u);
  EXPECT_EQ(t.tokens, 36u * 64);
  EXPECT_THAT(kinds(boundary(), "candidate", 8),
              ElementsAre("cold", "interpose", "interpose", "reset", "reload"));
}

TEST(PlanOperations, ContinuationStudy) {
  for (const char* arm : {"control", "candidate"}) {
    const PlannedTotals t = totals_of(continuation(), arm);
    EXPECT_EQ(t.cases, 10u);
    EXPECT_EQ(t.operations, 50u);
    EXPECT_EQ(t.generations, 40u);
    EXPECT_EQ(t.inputs, 30u);
    EXPECT_EQ(t.tokens, 9472u);
  }
  const auto list = operations_of(continuation(), "candidate");
  EXPECT_EQ(list.front().prompt_template, "tagged");
  EXPECT_EQ(list.front().tokens, 64u);
  EXPECT_EQ(list[5].prompt_template, "ledger");
  EXPECT_EQ(list[5].tokens, 256u);
  EXPECT_EQ(list.back().prompt_template, "code");
  EXPECT_EQ(list.back().length, 5376u);
}

TEST(PlanOperations, PerformanceStudy) {
  // Over two repetitions 120 requests, of which 90 are measured.
  const PlannedTotals off = totals_of(performance(), "control"),
                      on = totals_of(performance(), "candidate");
  EXPECT_EQ(2 * (off.generations + on.generations), 120u);
  EXPECT_EQ(2 * (off.measured + on.measured), 90u);
  EXPECT_EQ(off.cases, 12u);
  EXPECT_EQ(off.inputs, 12u);
  EXPECT_THAT(kinds(performance(), "control", 11), ElementsAre("cold", "repeat"));
  EXPECT_THAT(kinds(performance(), "candidate", 11),
              ElementsAre("cold", "repeat", "reset", "reload"));
  const auto list = operations_of(performance(), "control");
  EXPECT_TRUE(list.front().warmup);
  EXPECT_EQ(list.front().trial, 1u);
  EXPECT_FALSE(list.back().warmup);
  EXPECT_EQ(list.back().trial, 4u);
}

} // namespace
} // namespace hitproof::schema
