// Single rules of the scheduler: ends of requests, refusals, outcomes that do not fit.
#include "engine/front/tokenizer.h"
#include "tests/front/shadow_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::engine::test {
namespace {

SchedulerConfig small() {
  SchedulerConfig config;
  config.block_tokens = 16;
  config.max_positions = 200;
  return config;
}

class SchedulerRules : public testing::Test {
 protected:
  // Runs a prompt's prefill; the plan of the first decode step.
  StepPlan first_decode(int32_t length, int32_t max_tokens, int32_t draft) {
    scheduler_.submit(make_sequence(1, make_prompt(length, 0), max_tokens));
    for (;;) {
      auto plan = *scheduler_.plan();
      const SequenceStep& s = plan.sequences.at(0);
      if (!s.prefill) return plan;
      std::vector<SequenceOutcome> outcomes{{s.count, {}, -1}};
      if (s.start + s.count == length) outcomes[0] = {s.count, {50}, draft};
      scheduler_.complete(plan, outcomes);
    }
  }
  BlockPool pool_{60};
  Scheduler scheduler_{small(), pool_, nullptr};
};

TEST_F(SchedulerRules, ADraftThatWouldPassACheckpointIsLeftOut) {
  const StepPlan plan =
      first_decode(15, 20, 60); // position 15: one token reaches 16, two would pass it
  EXPECT_EQ(plan.sequences[0].count, 1);
  EXPECT_EQ(plan.sequences[0].drafts, 0);
  EXPECT_EQ(plan.sequences[0].checkpoint, 16);
}

TEST_F(SchedulerRules, ADraftThatReachesACheckpointIsTaken) {
  StepPlan plan = first_decode(14, 20, 60);
  EXPECT_EQ(plan.sequences[0].count, 2);
  EXPECT_EQ(plan.sequences[0].checkpoint, 16);
  const auto page = plan.sequences[0].state_out[0][1];
  std::vector<SequenceOutcome> rejected{{1, {51}, 61}};
  scheduler_.complete(plan, rejected);
  EXPECT_FALSE(pool_.filed(page)) << "the page holds a rejected token";
  const StepPlan next = *scheduler_.plan();
  EXPECT_EQ(next.sequences[0].start, 15);
  EXPECT_EQ(next.sequences[0].state_out[0][0], page)
      << "the same page, written again with the right token";
}

TEST_F(SchedulerRules, TheLastTokenIsDecidedWithoutADraft) {
  const StepPlan plan = first_decode(5, 2, 60);
  EXPECT_EQ(plan.sequences[0].drafts, 0);
}

TEST_F(SchedulerRules, EndOfSequenceEndsARequestAndDropsWhatCameAfter) {
  scheduler_.submit(make_sequence(1, make_prompt(5, 0), 20));
  auto plan = *scheduler_.plan();
  plan.sequences[0].sequence->ignore_eos = false;
  std::vector<SequenceOutcome> outcomes{{5, {50}, end_token}};
  scheduler_.complete(plan, outcomes);
  plan = *scheduler_.plan();
  outcomes = {{2, {end_token, 52}, 9}};
  scheduler_.complete(plan, outcomes);
  EXPECT_THAT(outcomes[0].sampled, testing::ElementsAre(end_token));
  const auto finished = scheduler_.take_finished();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0]->finish, FinishReason::stop);
  EXPECT_EQ(scheduler_.counters().end_tokens, 1u);
  EXPECT_EQ(pool_.in_use(), 0);
}

TEST_F(SchedulerRules, OutcomesThatDoNotFitAreRefused) {
  const StepPlan plan = first_decode(5, 20, 60);
  for (SequenceOutcome wrong : {SequenceOutcome{3, {1, 2, 3}, -1}, SequenceOutcome{0, {}, -1},
                                SequenceOutcome{2, {1}, -1}}) {
    std::vector<SequenceOutcome> outcomes{wrong};
    EXPECT_THROW(scheduler_.complete(plan, outcomes), std::runtime_error);
  }
}

TEST_F(SchedulerRules, TooLongRequestsAreRefusedWithTheRemedy) {
  EXPECT_THAT(scheduler_.refuse(150, 51), testing::HasSubstr("limit of 200"));
  BlockPool tiny(12);
  const Scheduler scheduler(small(), tiny, nullptr);
  EXPECT_THAT(scheduler.refuse(40, 10), testing::HasSubstr("--blocks"));
  EXPECT_EQ(scheduler.refuse(10, 3), "");
}

TEST_F(SchedulerRules, ABudgetBelowOneChunkIsRefused) {
  SchedulerConfig config = small();
  config.token_budget = 16;
  EXPECT_THAT(check_scheduler_config(config), testing::HasSubstr("at least 24"));
}

TEST_F(SchedulerRules, ResetIsRefusedWhileARequestRuns) {
  first_decode(5, 20, -1);
  EXPECT_FALSE(scheduler_.reset_prefix_cache());
  scheduler_.abort(1);
  EXPECT_TRUE(scheduler_.reset_prefix_cache());
}

TEST_F(SchedulerRules, ASplitMovesChunksButKeepsCheckpoints) {
  SchedulerConfig config = small();
  config.split = 8;
  BlockPool pool(60);
  ShadowEngine shadow(16, pool, 0, 1);
  Scheduler scheduler(config, pool, &shadow);
  scheduler.submit(make_sequence(1, make_prompt(33, 0), 2));
  std::vector<StepPlan> plans;
  run_all(scheduler, shadow, &plans);
  std::vector<int32_t> counts;
  for (const StepPlan& p : plans)
    counts.push_back(p.sequences[0].count);
  EXPECT_THAT(counts, testing::ElementsAre(8, 8, 8, 8, 1, 1));
  EXPECT_EQ(shadow.saves.size(), 2u);
  EXPECT_THAT(shadow.violations, testing::IsEmpty());
}

} // namespace
} // namespace hitproof::engine::test
