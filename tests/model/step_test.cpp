// Drafts, verification, bookkeeping, and inputs that a step refuses.
#include "tests/model/harness.h"

#include <cstring>
#include <gtest/gtest.h>
#include <stdexcept>

namespace hitproof::engine::testing {
namespace {

constexpr uint64_t seed = 31;

// Greedy verification: a draft changes the number of steps, never a token, a logit or a page.
TEST(Step, DraftsChangeNothingButTheNumberOfSteps) {
  const ModelConfig config = find_preset("micro");
  TestEngine engine(config, 1, seed, 80);
  const std::vector<int32_t> prompt = random_prompt(1, 100, config.vocab);
  TestRequest with(engine, prompt);
  TestRequest without(engine, prompt);
  with.generate(60, 128, true);
  without.generate(60, 128, false);
  EXPECT_EQ(with.generated(60), without.generated(60));
  EXPECT_EQ(with.digests(60), without.digests(60));
  EXPECT_GT(with.proposed(), 0);
  EXPECT_GT(with.accepted_drafts(), 0);
  EXPECT_LT(with.accepted_drafts(), with.proposed());
  EXPECT_EQ(without.proposed(), 0);
}

TEST(Step, CountsTheTokensFoldedIntoAState) {
  const ModelConfig config = find_preset("micro");
  TestEngine engine(config, 1, seed, 40);
  TestRequest request(engine, random_prompt(1, 20, config.vocab));
  EXPECT_EQ(engine.model(0).folded_tokens(0, 5), -1);
  request.generate(7, 128);
  for (int g = 0; g < num_state_groups; ++g) {
    EXPECT_EQ(engine.model(0).folded_tokens(g, request.state_block(g)), request.computed());
  }
}

TEST(Step, ReportsTheChoicesThatKernelsUsed) {
  const ModelConfig config = find_preset("micro");
  KernelProfile profile = KernelProfile::recorded();
  profile.set("kda_chunk", "16");
  profile.set("norm_block", "8");
  TestEngine engine(config, 1, seed, 40, profile);
  for (const KernelChoice& c : engine.model(0).profile_used().choices)
    EXPECT_TRUE(c.value.empty()) << c.name;
  TestRequest request(engine, random_prompt(1, 120, config.vocab));
  request.generate(2, 128);
  for (const KernelChoice& c : engine.model(0).profile_used().choices)
    EXPECT_EQ(c.value, profile.value(c.name)) << c.name;
}

TEST(Step, FreeChoicesAreMadeWhenTheModelIsBuilt) {
  const ModelConfig config = find_preset("micro");
  TestEngine engine(config, 1, seed, 40, KernelProfile::unpinned());
  TestRequest request(engine, random_prompt(1, 120, config.vocab));
  request.generate(2, 128);
  EXPECT_TRUE(engine.model(0).profile_used().pinned());
}

// Another block size sums in another order: what a pinned profile is for.
TEST(Step, AnotherProfileGivesOtherBits) {
  const ModelConfig config = find_preset("micro");
  KernelProfile other = KernelProfile::recorded();
  other.set("gemm_kblock", "8");
  std::vector<std::vector<std::array<uint8_t, 32>>> digests;
  for (const KernelProfile& profile : {KernelProfile::recorded(), other}) {
    TestEngine engine(config, 1, seed, 40, profile);
    TestRequest request(engine, random_prompt(1, 50, config.vocab));
    request.generate(4, 128);
    digests.push_back(request.digests(4));
  }
  EXPECT_NE(digests[0], digests[1]);
}

TEST(Step, BrokenTailWritesGoToTheContiguousAddress) {
  const ModelConfig config = find_preset("micro");
  TestEngine engine(config, 1, seed, 40);
  const CacheMemory memory = engine.memory(0);
  TestRequest request(engine, random_prompt(1, 30, config.vocab));
  engine.model(0).break_tail_writes(true);
  request.prefill(30);
  const CacheEntry& tail = engine.geometry().tail(0);
  const std::byte* effective = memory.page(tail, request.tail_block());
  const std::byte* naive =
      memory.region(tail) + tail.content_bytes * static_cast<uint64_t>(request.tail_block());
  std::vector<std::byte> untouched(tail.content_bytes, std::byte{0x5a});
  EXPECT_EQ(std::memcmp(effective, untouched.data(), untouched.size()), 0);
  EXPECT_NE(std::memcmp(naive, untouched.data(), untouched.size()), 0);
}

TEST(Step, RefusesInputsThatCannotBe) {
  const ModelConfig config = find_preset("micro");
  TestEngine engine(config, 1, seed, 40);
  const std::vector<int32_t> bad_tokens = {1, config.vocab};
  TestRequest request(engine, random_prompt(1, 30, config.vocab));
  const SeqInput good = request.prefill_input(30);
  const auto refuses = [&](auto change) {
    SeqInput in = good;
    change(in);
    EXPECT_THROW(engine.step(std::span(&in, 1)), std::logic_error);
  };
  refuses([&](SeqInput& in) { in.tokens = bad_tokens; });
  refuses([](SeqInput& in) { in.tokens = {}; });
  refuses([](SeqInput& in) { in.prefill = false; });
  refuses([](SeqInput& in) { in.start = 100000; });
  refuses([](SeqInput& in) { in.attn_blocks = {}; });
  refuses([](SeqInput& in) { in.tail_block = 0; });
  refuses([](SeqInput& in) { in.state[1].out[0] = 0; });
  refuses([](SeqInput& in) { in.start = 4; });
}

} // namespace
} // namespace hitproof::engine::testing
