#include "engine/front/orders.h"
#include "engine/runtime/keys.h"
#include "tests/front/shadow_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::engine::test {
namespace {

constexpr int c = 16;

class Orders : public testing::Test {
 protected:
  Orders() : pool_(80), shadow_(c, pool_, 1.0, 5), scheduler_(config(), pool_, &shadow_) {}
  static SchedulerConfig config() {
    SchedulerConfig k;
    k.block_tokens = c;
    k.max_positions = 500;
    return k;
  }
  // All steps of one request, as ordered from each rank.
  std::vector<std::vector<Step>> run(int32_t length, int32_t tokens, Break broken = Break::none,
                                     bool connector = true) {
    OrderMaker maker({2, c, connector, broken}, pool_);
    scheduler_.submit(make_sequence(++id_, make_prompt(length, 0), tokens));
    std::vector<std::vector<Step>> all;
    while (!scheduler_.idle()) {
      const auto plan = *scheduler_.plan();
      all.push_back(maker.make(plan));
      auto outcomes = shadow_.execute(plan);
      scheduler_.complete(plan, outcomes);
    }
    scheduler_.take_finished();
    return all;
  }
  BlockPool pool_;
  ShadowEngine shadow_;
  Scheduler scheduler_;
  uint64_t id_ = 0;
};

TEST_F(Orders, TransferIdsNameTheRankAndAreNeverUsedTwice) {
  std::set<uint64_t> seen;
  for (const auto& ranks : run(33, 20))
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      for (const SaveOrder& save : ranks[rank].saves) {
        EXPECT_EQ(save.transfer >> 48, rank + 1);
        EXPECT_TRUE(seen.insert(save.transfer).second);
      }
  EXPECT_EQ(seen.size(), 2u * ((33 + 19) / c));
}

TEST_F(Orders, EveryBlockGoesWithItsGeneration) {
  for (const auto& ranks : run(40, 10)) {
    const SeqOrder& s = ranks[0].seqs.at(0);
    EXPECT_EQ(s.attention.size(),
              static_cast<size_t>((s.start + static_cast<int32_t>(s.tokens.size()) + c - 1) / c));
    for (const BlockRef& block : s.attention)
      EXPECT_GT(block.generation, 0u);
    EXPECT_GT(s.tail.generation, 0u);
    for (const StateOrder& state : s.state) {
      EXPECT_NE(state.out[0].block, 0);
      EXPECT_EQ(state.out[0].generation, pool_.generation(state.out[0].block));
      EXPECT_EQ(state.in.block == 0, s.start == 0) << "only the first token starts from nothing";
    }
  }
}

TEST_F(Orders, ASaveNamesThePrefixIncludingAnAcceptedDraft) {
  Tokens tokens = make_prompt(14, 0);
  for (int i = 0; i < 20; ++i)
    tokens.push_back(next_token(tokens));
  int saves = 0, with_draft = 0;
  for (const auto& ranks : run(14, 20))
    for (const SaveOrder& save : ranks[0].saves) {
      ++saves;
      if (ranks[0].seqs[0].last_is_draft) ++with_draft;
      EXPECT_EQ(save.prefix, prefix_digest(std::span(tokens).first(save.boundary)));
      const auto& state = ranks[0].seqs[0].state[1];
      EXPECT_EQ(save.state[1], state.out[ranks[0].seqs[0].last_is_draft ? 1 : 0]);
    }
  EXPECT_EQ(saves, 2);
  EXPECT_GT(with_draft, 0);
}

TEST_F(Orders, ALoadNamesEveryChunkAndTheTokenAfterIt) {
  run(40, 4);
  ASSERT_TRUE(scheduler_.reset_prefix_cache());
  const auto steps = run(40, 4);
  const LoadOrder& load = steps[0][1].loads.at(0);
  const Tokens prompt = make_prompt(40, 0);
  EXPECT_EQ(load.token_begin, 0u);
  EXPECT_EQ(load.boundary, 32u);
  ASSERT_EQ(load.chunks.size(), 2u);
  EXPECT_EQ(load.chunks[1].prefix, prefix_digest(std::span(prompt).first(32)));
  EXPECT_EQ(load.chunks[1].next_token, static_cast<uint32_t>(prompt[32]));
  const SeqOrder& s = steps[0][1].seqs[0];
  EXPECT_EQ(s.start, 32);
  EXPECT_EQ(load.attention[1], s.attention[1]);
  for (size_t g = 0; g < 3; ++g)
    EXPECT_EQ(load.state[g], s.state[g].in);
  for (size_t i = 1; i < steps.size(); ++i)
    EXPECT_TRUE(steps[i][0].loads.empty()) << "loaded once";
}

TEST_F(Orders, WithoutConnectorNothingIsSaved) {
  for (const auto& ranks : run(40, 4, Break::none, false))
    EXPECT_TRUE(ranks[0].saves.empty());
}

TEST_F(Orders, OnlyTheLastRankResumesElsewhereAndOnlyAfterALoad) {
  for (const auto& ranks : run(40, 4, Break::rank_resumes_elsewhere))
    EXPECT_EQ(ranks[0].seqs, ranks[1].seqs);
  ASSERT_TRUE(scheduler_.reset_prefix_cache());
  const auto steps = run(40, 4, Break::rank_resumes_elsewhere);
  EXPECT_EQ(steps[0][0].seqs[0].start, 32);
  EXPECT_EQ(steps[0][1].seqs[0].start, 31);
  EXPECT_EQ(steps[0][1].seqs[0].tokens, steps[0][0].seqs[0].tokens);
  EXPECT_EQ(steps[1][0].seqs, steps[1][1].seqs);
}

TEST(AgreedResults, DisagreementNamesRankStepAndRequest) {
  StepDone done;
  done.step = 9;
  done.results = {{4, 1, {17}, {Digest{}}, {0.5f}, -1}};
  std::vector<StepDone> answers(4, done);
  EXPECT_EQ(agreed_results(9, answers).at(0).sampled.at(0), 17);
  answers[2].results[0].sampled[0] = 18;
  try {
    agreed_results(9, answers);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("rank 2"), testing::HasSubstr("step 9"),
                               testing::HasSubstr("request 4")));
  }
  answers[2].step = 8;
  EXPECT_THROW(agreed_results(9, answers), std::runtime_error);
}

} // namespace
} // namespace hitproof::engine::test
