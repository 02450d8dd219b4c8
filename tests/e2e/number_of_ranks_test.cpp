// Studies with another number of ranks than four: the checkpoint interval and every count follow
// from it, and what a number of ranks or a way of their sums cannot be is refused.
#include "tests/e2e/run.h"

#include <gtest/gtest.h>

namespace hitproof::e2e {
namespace {

// Preset micro at two ranks and one draft token: 2 of 4 heads of 16, records of 12 bytes.
constexpr int64_t ranks = 2;
constexpr int64_t state = 2 * 16 * 16 * 4 + 2 * 3 * 2 * 16 * (3 + 1);
constexpr int64_t block = 128 * ((state + 128 * 12 - 1) / (128 * 12));

Outcome study(const std::vector<std::string>& options) {
  return run(micro_study("boundary", {"--save-delay-ms", "50"}, options));
}

TEST(NumberOfRanks, TwoRanksHaveTheirOwnInterval) {
  static_assert(block == 256);
  TempDir dir("two-ranks");
  const std::string out = dir.path("study");
  const int64_t n = 2 * block + 1; // two chunks are restored
  const Outcome made =
      study({"--tp", "2", "--lengths", std::to_string(n), "--tokens", "8", "--out", out});
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  int code = -1;
  const auto audit = audit_json(out + "/candidate", &code);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(audit["verdict"], "pass") << audit.dump(2);
  EXPECT_EQ(audit["pages"]["entries_per_rank"], 70);
  // Three prompts of two checkpoints each are saved, one of them is loaded.
  EXPECT_EQ(audit["pages"]["d2h_rows"], ranks * 70 * 3 * 2);
  EXPECT_EQ(audit["pages"]["h2d_rows"], ranks * (24 * 2 + 46));

  // An arm of one rank has no control in arms of two.
  const Outcome other =
      study({"--tp", "1", "--lengths", std::to_string(2 * n), "--tokens", "8", "--arms",
             "candidate", "--reference", out + "/control", "--out", dir.path("other")});
  EXPECT_TRUE(other.exit_code == 1 || other.exit_code == 3) << other.exit_code << other.err;
  EXPECT_NE(other.out.find("planned with other controls"), std::string::npos) << other.out;
}

TEST(NumberOfRanks, WhatCannotBeIsRefused) {
  TempDir dir("refused-ranks");
  const Outcome heads = study({"--tp", "3", "--out", dir.path("a")});
  EXPECT_EQ(heads.exit_code, 2);
  EXPECT_NE(heads.err.find("KDA heads (4) is not a multiple of 3"), std::string::npos) << heads.err;
  const Outcome sums = study({"--collectives", "nccl", "--out", dir.path("b")});
  EXPECT_EQ(sums.exit_code, 2);
  EXPECT_NE(sums.err.find("--collectives nccl is for ranks on GPUs"), std::string::npos)
      << sums.err;
  const Outcome word = study({"--collectives", "gloo", "--out", dir.path("c")});
  EXPECT_EQ(word.exit_code, 2);
}

} // namespace
} // namespace hitproof::e2e
