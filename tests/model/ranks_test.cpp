// Several ranks, several sequences: the same bits whoever shares the step.
#include "tests/model/harness.h"

#include <gtest/gtest.h>

namespace hitproof::engine::testing {
namespace {

constexpr uint64_t seed = 21;

TEST(Ranks, FourRanksDecideAsOne) {
  const ModelConfig config = find_preset("parity");
  const std::vector<int32_t> prompt = random_prompt(8, 140, config.vocab);
  std::vector<std::vector<int32_t>> ids;
  for (const int tp : {1, 2, 4}) {
    TestEngine engine(config, tp, seed, 64);
    TestRequest request(engine, prompt);
    request.generate(16, engine.geometry().block_tokens);
    ids.push_back(request.generated(16));
    EXPECT_EQ(engine.model(tp - 1).weights_sha256(), engine.model(0).weights_sha256());
  }
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[0], ids[2]);
}

TEST(Ranks, TwoRunsAgreeBitForBit) {
  const ModelConfig config = find_preset("micro");
  const std::vector<int32_t> prompt = random_prompt(9, 200, config.vocab);
  std::vector<std::vector<std::array<uint8_t, 32>>> digests;
  for (int run = 0; run < 2; ++run) {
    TestEngine engine(config, 4, seed, 64);
    TestRequest request(engine, prompt);
    request.generate(24, engine.geometry().block_tokens);
    digests.push_back(request.digests(24));
  }
  EXPECT_EQ(digests[0], digests[1]);
}

// One request decodes while another is prefilled in the same steps: its rows are then split among
// the ranks instead of being computed by all of them, and share products with others.
TEST(Ranks, BitsDoNotDependOnWhoSharesTheStep) {
  const ModelConfig config = find_preset("micro");
  TestEngine engine(config, 4, seed, 120);
  const std::vector<int32_t> prompt = random_prompt(10, 150, config.vocab);
  const std::vector<int32_t> other_prompt = random_prompt(12, 230, config.vocab);
  TestRequest alone(engine, prompt);
  alone.generate(12, 128);

  TestRequest shared(engine, prompt);
  shared.prefill(128);
  shared.prefill(150);
  TestRequest other(engine, other_prompt);
  const int ends[] = {70, 71, 74, 128, 200, 230};
  for (const int end : ends) {
    const SeqInput inputs[] = {other.prefill_input(end), shared.decode_input(true)};
    const std::vector<SeqOutput> outputs = engine.step(inputs);
    other.absorb(inputs[0], outputs[0]);
    shared.absorb(inputs[1], outputs[1]);
  }
  shared.generate(12, 128);
  EXPECT_EQ(shared.generated(12), alone.generated(12));
  EXPECT_EQ(shared.digests(12), alone.digests(12));

  TestRequest other_alone(engine, other_prompt);
  for (const int end : ends)
    other_alone.prefill(end);
  other.generate(8, 128);
  other_alone.generate(8, 128);
  EXPECT_EQ(other.digests(8), other_alone.digests(8));
}

} // namespace
} // namespace hitproof::engine::testing
