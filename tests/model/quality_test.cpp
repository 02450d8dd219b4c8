// What the studies need of synthetic weights (docs/studies.md, section 7): an error of the state
// reaches the output, decoding does not fall into a fixed point, and drafts are accepted sometimes.
#include "tests/model/harness.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

namespace hitproof::engine::testing {
namespace {

constexpr int seeds = 20;
constexpr int prompt_tokens = 288; // longer than the indexer's top-k
constexpr int new_tokens = 64;

// Smallest period up to `longest` with which the last half of the ids repeats; 0 where there is
// none.
int period(const std::vector<int32_t>& ids, int longest) {
  const auto half = static_cast<int>(ids.size()) / 2;
  for (int p = 1; p <= longest; ++p) {
    if (std::equal(ids.end() - half + p, ids.end(), ids.end() - half)) return p;
  }
  return 0;
}

TEST(Quality, TwentyWeightSeeds) {
  const ModelConfig config = find_preset("tiny");
  int differ = 0, proposed = 0, accepted = 0, fewest = new_tokens, periodic = 0;
  double first_sum = 0.0, distinct_sum = 0.0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    TestEngine engine(config, 1, seed, 24);
    const std::vector<int32_t> prompt = random_prompt(seed, prompt_tokens, config.vocab);
    TestRequest right(engine, prompt);
    right.prefill(prompt_tokens);
    // The faulty reload: the state holds the whole prompt, and its last token is computed once
    // more.
    const std::vector<int> attn = {right.attn_block(0)};
    const std::vector<int> state = {right.state_block(0), right.state_block(1),
                                    right.state_block(2)};
    TestRequest wrong(engine, prompt);
    wrong.resume(prompt_tokens - 1, attn, right.tail_block(), state);
    right.generate(new_tokens, prompt_tokens);
    const std::vector<int32_t> ids = right.generated(new_tokens);
    int index = 0; // first id that differs
    for (; index < new_tokens; ++index) {
      wrong.generate(index + 1, prompt_tokens);
      if (wrong.generated(index + 1).back() != ids[static_cast<size_t>(index)]) break;
    }
    const auto distinct = static_cast<int>(std::set<int32_t>(ids.begin(), ids.end()).size());
    differ += index < new_tokens ? 1 : 0;
    first_sum += index;
    distinct_sum += distinct;
    fewest = std::min(fewest, distinct);
    periodic += period(ids, 8) != 0 ? 1 : 0;
    proposed += right.proposed();
    accepted += right.accepted_drafts();
    std::printf("seed %2d: first difference %d, distinct %d, drafts %d of %d\n",
                static_cast<int>(seed), index, distinct, right.accepted_drafts(), right.proposed());
  }
  std::printf("differ %d of %d, mean first difference %.1f, distinct mean %.1f least %d, drafts "
              "accepted %.1f %%\n",
              differ, seeds, first_sum / seeds, distinct_sum / seeds, fewest,
              100.0 * accepted / proposed);
  EXPECT_EQ(differ, seeds);
  EXPECT_GE(fewest, 32);
  EXPECT_EQ(periodic, 0);
  EXPECT_GE(accepted, proposed / 10);
  EXPECT_LE(accepted, proposed * 6 / 10);
}

} // namespace
} // namespace hitproof::engine::testing
