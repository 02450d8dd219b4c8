// The nine-length regression: the instrumented study on preset `tiny`, and every figure that
// docs/studies.md 2.3 derives, computed here from the dimensions and never from the engine's code.
#include "tests/e2e/run.h"

#include <gtest/gtest.h>

namespace hitproof::e2e {
namespace {

// Dimensions of preset `tiny` at four ranks and one draft token (docs/model.md 4.2).
struct Geometry {
  int64_t heads = 3, dim = 64, record = 32, indexer_dim = 32, ring = 4, drafts = 1;
  int64_t state() const { return heads * dim * dim * 4 + 2 * 3 * heads * dim * (3 + drafts); }
  int64_t block() const { return 128 * ((state() + 128 * record - 1) / (128 * record)); }
  int64_t mla_page() const { return block() * record; }
  int64_t indexer_page() const { return block() / 4 * (indexer_dim + 4); }
  int64_t tail() const { return 2 * ring * indexer_dim * 2; }
  int64_t attention() const { return 12 * (mla_page() + indexer_page()); }  // A
  int64_t state_and_tails() const { return 34 * mla_page() + 12 * tail(); } // S
};

constexpr int64_t ranks = 4, generated = 64;

int64_t floor_div(int64_t a, int64_t b) { return a / b; }

TEST(BoundaryRegression, NineLengthsShowTheFiguresOfTheStudy) {
  const Geometry g;
  const int64_t c = g.block();
  ASSERT_EQ(c, 1792);
  const std::vector<int64_t> lengths = {3583, 3584, 3585, 3587, 3588, 3589, 5375, 5376, 5377};
  int64_t checkpoints = 0, chunks = 0, again = 0;
  for (int64_t n : lengths) {
    const int64_t restored = floor_div(n - 1, c);
    checkpoints += 3 * floor_div(n + generated - 1, c);
    chunks += restored;
    again += floor_div(n + generated - 1, c) - restored;
  }
  EXPECT_EQ(checkpoints, 63);
  EXPECT_EQ(chunks, 17);
  const int64_t reloads = static_cast<int64_t>(lengths.size());

  TempDir dir("nine");
  const std::string out = dir.path("study");
  Outcome study =
      run({program("hitproof"), "study", "boundary", "--preset", "tiny", "--out", out, "--quiet"});
  ASSERT_EQ(study.exit_code, 0) << study.out << study.err;

  int code = -1;
  const auto audit = audit_json(out + "/candidate", &code);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(audit["verdict"], "pass") << audit.dump(2);
  EXPECT_EQ(audit["generations"]["compared"], reloads * 4);
  EXPECT_EQ(audit["generations"]["equal"], reloads * 4);
  EXPECT_EQ(audit["pages"]["d2h_rows"], ranks * 70 * checkpoints);
  EXPECT_EQ(audit["pages"]["h2d_rows"], ranks * (24 * chunks + 46 * reloads));
  EXPECT_EQ(audit["pages"]["mismatches"], 0);
  EXPECT_EQ(audit["pages"]["entries_per_rank"], 70);
  EXPECT_EQ(audit["pages"]["groups"], 6);
  EXPECT_EQ(audit["poison"]["destinations"], ranks * (24 * chunks + 46 * reloads));
  EXPECT_EQ(audit["poison"]["residue"], 0);
  EXPECT_EQ(audit["tails"]["observations"], ranks * reloads * 12);
  EXPECT_EQ(audit["tails"]["nonzero"], ranks * reloads * 12);
  EXPECT_EQ(audit["waits"]["pairs"], ranks * (checkpoints + again));
  EXPECT_EQ(audit["waits"]["per_rank"], (std::vector<int64_t>(4, checkpoints + again)));
  EXPECT_EQ(audit["waits"]["unpaired"], 0);
  EXPECT_EQ(audit["boundary"]["reloads"], reloads);
  EXPECT_EQ(audit["boundary"]["aligned"], reloads);
  EXPECT_EQ(audit["bytes"]["h2d"],
            ranks * (chunks * g.attention() + reloads * g.state_and_tails()));
  EXPECT_EQ(audit["bytes"]["d2h"], ranks * checkpoints * (g.attention() + g.state_and_tails()));
  // The derivation's own printed values.
  EXPECT_EQ(ranks * 70 * checkpoints, 17640);
  EXPECT_EQ(ranks * (24 * chunks + 46 * reloads), 3288);
  EXPECT_EQ(ranks * (checkpoints + again), 268);
  EXPECT_EQ(ranks * (chunks * g.attention() + reloads * g.state_and_tails()), 130363392);
  EXPECT_EQ(ranks * checkpoints * (g.attention() + g.state_and_tails()), 715051008);
  EXPECT_TRUE(processes_of(out).empty());
}

} // namespace
} // namespace hitproof::e2e
