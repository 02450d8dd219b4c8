// Continuing from pages equals having computed on.
#include "tests/model/harness.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace hitproof::engine::testing {
namespace {

constexpr uint64_t seed = 11;

// Copies what a request holds after `computed` tokens into other blocks, content only: padding
// stays as it was.
void copy_pages(TestEngine& engine, const TestRequest& from, int computed,
                std::span<const int> attn_blocks, int tail_block,
                std::span<const int> state_blocks) {
  const int block = engine.geometry().block_tokens;
  const CacheMemory memory = engine.memory(0);
  const auto copy = [&memory](const CacheEntry& e, int source, int target) {
    std::memcpy(memory.page(e, target), memory.page(e, source), e.content_bytes);
  };
  for (const CacheEntry& e : engine.geometry().entries) {
    if (e.kind == EntryKind::state) {
      copy(e, from.state_block(e.engine_group - 2),
           state_blocks[static_cast<size_t>(e.engine_group - 2)]);
    } else if (e.kind == EntryKind::tail) {
      copy(e, from.tail_block(), tail_block);
    } else {
      for (int i = 0; i * block < computed; ++i)
        copy(e, from.attn_block(i), attn_blocks[static_cast<size_t>(i)]);
    }
  }
}

class Restart : public ::testing::TestWithParam<int> {};

// The true encodings, bit for bit, at checkpoints and at positions in the middle of a pool and of a
// convolution.
TEST_P(Restart, FromPagesEqualsOneShotWithTheSameStepBorders) {
  const int border = GetParam();
  const ModelConfig config = find_preset("micro");
  TestEngine engine(config, 1, seed, 80);
  const std::vector<int32_t> prompt = random_prompt(3, 300, config.vocab);

  TestRequest straight(engine, prompt);
  straight.prefill(border);
  const std::vector<int> attn = {engine.take_block(), engine.take_block(), engine.take_block(),
                                 engine.take_block()};
  const std::vector<int> state = {engine.take_block(), engine.take_block(), engine.take_block()};
  const int tail = engine.take_block();
  copy_pages(engine, straight, border, attn, tail, state);
  straight.generate(24, 1000);

  TestRequest restarted(engine, prompt);
  restarted.resume(border, attn, tail, state);
  restarted.generate(24, 1000);
  EXPECT_EQ(restarted.generated(24), straight.generated(24));
  EXPECT_EQ(restarted.digests(24), straight.digests(24));
}

INSTANTIATE_TEST_SUITE_P(Borders, Restart,
                         ::testing::Values(1, 2, 3, 50, 127, 128, 131, 256, 257, 299));

TEST(RestartExact, AnyPositionEqualsOneShot) {
  const ModelConfig config = find_preset("parity");
  const std::vector<int32_t> ids = random_prompt(5, 90, config.vocab);
  const StackRun whole = run_stack(config, 0, seed, ids, {90});
  for (int border = 1; border < 90; border += 2) {
    const StackRun split = run_stack(config, 0, seed, ids, {border, 90});
    double difference = 0.0, largest = 0.0;
    for (size_t i = 0; i < whole.hidden.size(); ++i) {
      difference =
          std::max(difference, std::fabs(static_cast<double>(whole.hidden[i]) - split.hidden[i]));
      largest = std::max(largest, std::fabs(static_cast<double>(whole.hidden[i])));
    }
    ASSERT_LT(difference / largest, 1e-5) << border;
  }
}

// A detector needs something to find: a state that holds one token too many leads elsewhere.
TEST(RestartExact, StateFoldedOnceTooOftenDiffers) {
  const ModelConfig config = find_preset("micro");
  TestEngine engine(config, 1, seed, 80);
  const std::vector<int32_t> prompt = random_prompt(3, 128, config.vocab);
  TestRequest right(engine, prompt);
  right.prefill(128);
  const std::vector<int> attn = {engine.take_block()};
  const std::vector<int> state = {engine.take_block(), engine.take_block(), engine.take_block()};
  const int tail = engine.take_block();
  copy_pages(engine, right, 128, attn, tail, state);
  right.generate(32, 1000);

  TestRequest wrong(engine, prompt);
  wrong.resume(127, attn, tail, state);
  for (int g = 0; g < num_state_groups; ++g)
    engine.model(0).set_folded_tokens(g, state[static_cast<size_t>(g)], 128);
  wrong.generate(1, 1000);
  for (int g = 0; g < num_state_groups; ++g)
    EXPECT_EQ(engine.model(0).folded_tokens(g, wrong.state_block(g)), 129);
  wrong.generate(32, 1000);
  EXPECT_NE(wrong.digests(32), right.digests(32));
}

} // namespace
} // namespace hitproof::engine::testing
