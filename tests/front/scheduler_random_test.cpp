// Many requests of random lengths at once, pools of random size: what every step must keep, and
// that all of them end with exactly the tokens that they would have had alone.
#include "tests/front/shadow_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::engine::test {
namespace {

constexpr int c = 32;

void play(uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&random](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  SchedulerConfig config;
  config.block_tokens = c;
  config.max_sequences = pick(1, 5);
  config.token_budget = pick(c + 2 * config.max_sequences, 4 * c);
  config.max_positions = 1000;
  BlockPool pool(pick(60, 160));
  ShadowEngine shadow(c, pool, pick(0, 10) / 10.0, seed);
  shadow.saving = pick(0, 3) > 0;
  Scheduler scheduler(config, pool, shadow.saving ? &shadow : nullptr);

  std::map<uint64_t, std::pair<Tokens, int32_t>> asked;
  std::vector<std::unique_ptr<Sequence>> finished;
  size_t aborted = 0;
  for (int step = 0; step < 4000; ++step) {
    if (asked.size() < 60 && pick(0, 3) == 0) {
      const int32_t length = pick(1, 250), tokens = pick(1, 90);
      if (!scheduler.refuse(length, tokens).empty()) continue;
      const uint64_t id = asked.size() + 1;
      Tokens prompt = make_prompt(length, pick(0, 3));
      asked[id] = {prompt, tokens};
      scheduler.submit(make_sequence(id, std::move(prompt), tokens));
    }
    if (!asked.empty() && pick(0, 60) == 0 &&
        scheduler.abort(static_cast<uint64_t>(pick(1, static_cast<int>(asked.size())))))
      ++aborted;
    const auto plan = scheduler.plan();
    if (!plan) {
      ASSERT_TRUE(scheduler.idle()) << "requests wait and nothing is planned";
      if (asked.size() == 60) break;
      if (pick(0, 5) == 0) {
        ASSERT_TRUE(scheduler.reset_prefix_cache());
      }
      continue;
    }
    EXPECT_LE(plan->tokens(), config.token_budget);
    EXPECT_LE(plan->sequences.size(), static_cast<size_t>(config.max_sequences));
    bool loads = false;
    int32_t drafts = 0;
    for (const SequenceStep& s : plan->sequences) {
      loads = loads || s.load.boundary > 0;
      drafts += s.drafts;
      EXPECT_EQ(s.start / c, (s.start + s.count - 1) / c);
      if (s.prefill) {
        EXPECT_TRUE((s.start + s.count) % c == 0 || s.start + s.count == s.sequence->prefill_end);
      }
    }
    if (loads) {
      EXPECT_EQ(drafts, 0);
    }
    auto outcomes = shadow.execute(*plan);
    scheduler.complete(*plan, outcomes);
    for (auto& s : scheduler.take_finished())
      finished.push_back(std::move(s));
    ASSERT_THAT(shadow.violations, testing::IsEmpty());
  }
  ASSERT_TRUE(scheduler.idle());
  EXPECT_EQ(pool.in_use(), 0);
  EXPECT_TRUE(shadow.double_folds.empty());
  EXPECT_EQ(finished.size() + aborted, asked.size());
  for (const auto& s : finished) {
    auto [tokens, count] = asked[s->id];
    for (int32_t i = 0; i < count; ++i)
      tokens.push_back(next_token(tokens));
    EXPECT_EQ(s->tokens, tokens) << "request " << s->id;
  }
}

TEST(SchedulerRandom, EveryRequestGetsItsOwnTokens) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    play(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(SchedulerRandom, PreemptedRequestsAreRecomputed) {
  SchedulerConfig config;
  config.block_tokens = c;
  config.max_positions = 1000;
  BlockPool pool(40);
  ShadowEngine shadow(c, pool, 0.5, 3);
  Scheduler scheduler(config, pool, nullptr);
  for (uint64_t id = 1; id <= 3; ++id)
    scheduler.submit(make_sequence(id, make_prompt(40, static_cast<int32_t>(id)), 80));
  const auto finished = run_all(scheduler, shadow);
  EXPECT_EQ(finished.size(), 3u);
  EXPECT_GT(scheduler.counters().preemptions, 0u);
  EXPECT_THAT(shadow.violations, testing::IsEmpty());
  for (const auto& s : finished) {
    Tokens tokens = make_prompt(40, static_cast<int32_t>(s->id));
    for (int i = 0; i < 80; ++i)
      tokens.push_back(next_token(tokens));
    EXPECT_EQ(s->tokens, tokens);
  }
}

} // namespace
} // namespace hitproof::engine::test
