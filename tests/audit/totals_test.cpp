// The figures of docs/studies.md 2.2 and 2.3, recomputed by the auditor from a correct nine-length
// study; and the faulty lookup's matrix.
#include "audit/json.h"
#include "audit/tables.h"
#include "tests/audit/fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hitproof::audit::testing {
namespace {

using nlohmann::json;

// Volumes from the dimensions alone: A bytes of one chunk's attention pages, S of one checkpoint's
// state and tail pages (docs/model.md 4.5).
constexpr std::int64_t attention = 12 * static_cast<std::int64_t>(mla_page + index_page);
constexpr std::int64_t state_sum =
    34 * static_cast<std::int64_t>(mla_page) + 12 * static_cast<std::int64_t>(tail_bytes);

TEST(Totals, NineLengthsStrict) {
  ScratchDir dir;
  StudySpec spec;
  spec.lengths = nine_lengths;
  write_archive(dir.path(), spec);
  const Report report = audit_or_throw(dir.path(), true);
  const json j = json::parse(to_json(report));
  EXPECT_EQ(j["verdict"], "pass") << findings_of(report);
  EXPECT_EQ(j["generations"]["compared"], 36);
  EXPECT_EQ(j["generations"]["equal"], 36);
  EXPECT_EQ(j["pages"]["d2h_rows"], 17640);
  EXPECT_EQ(j["pages"]["h2d_rows"], 3288);
  EXPECT_EQ(j["pages"]["mismatches"], 0);
  EXPECT_EQ(j["pages"]["entries_per_rank"], 70);
  EXPECT_EQ(j["pages"]["groups"], 6);
  EXPECT_EQ(j["poison"]["destinations"], 3288);
  EXPECT_EQ(j["poison"]["residue"], 0);
  EXPECT_EQ(j["tails"]["observations"], 432);
  EXPECT_EQ(j["tails"]["nonzero"], 432);
  EXPECT_EQ(j["waits"]["pairs"], 268);
  EXPECT_EQ(j["waits"]["per_rank"], json({67, 67, 67, 67}));
  EXPECT_EQ(j["waits"]["unpaired"], 0);
  EXPECT_EQ(j["waits"]["copying_nothing"], 16);
  EXPECT_EQ(j["boundary"]["reloads"], 9);
  EXPECT_EQ(j["boundary"]["aligned"], 9);
  EXPECT_EQ(j["order"]["loads_proved_by_path"], 36);
  EXPECT_EQ(j["order"]["saves_proved_by_path"], 252);
  ASSERT_EQ(j["order"]["paths"].size(), 2U);
  for (const json& path : j["order"]["paths"]) {
    EXPECT_EQ(path["proved"], true);
    EXPECT_EQ(path["records"].size(), 6U) << path.dump();
  }
  EXPECT_EQ(attention, 881'664);
  EXPECT_EQ(state_sum, 1'955'840);
  EXPECT_EQ(j["bytes"]["h2d"], 4 * (17 * attention + 9 * state_sum));
  EXPECT_EQ(j["bytes"]["d2h"], 4 * 63 * (attention + state_sum));

  const std::int64_t after[] = {1792, 1792, 3584, 3584, 3584, 3584, 3584, 3584, 5376};
  ASSERT_EQ(report.reloads.size(), 9u);
  for (std::size_t i = 0; i < 9; ++i) {
    const ReloadRow& row = report.reloads[i];
    EXPECT_EQ(row.label, after[i]);
    EXPECT_EQ(row.computed, after[i]);
    EXPECT_THAT(row.content, ::testing::ElementsAre(after[i]));
    EXPECT_EQ(row.scheduled, row.prompt_tokens - after[i]);
    EXPECT_EQ(row.chunks, after[i] / 1792);
    EXPECT_EQ(row.rows[3], 24 * row.chunks + 46);
    EXPECT_TRUE(row.aligned);
    EXPECT_EQ(row.first_difference, -1);
  }
}

TEST(Totals, FullLookupIsRefutedAtExactBoundariesOnly) {
  ScratchDir dir;
  StudySpec spec;
  spec.lengths = {3584, 3585, 5376};
  spec.full_lookup = true;
  spec.content_probes = false;
  spec.delays = false;
  write_archive(dir.path(), spec);
  const Report report = audit_or_throw(dir.path(), true);
  EXPECT_EQ(report.verdict, Verdict::fail);
  EXPECT_EQ(report.rule("boundary")->verdict, Verdict::fail);
  EXPECT_EQ(report.rule("generations")->verdict, Verdict::fail);
  EXPECT_EQ(report.rule("boundary")->figure("aligned"), 1);
  EXPECT_EQ(report.rule("generations")->figure("compared"), 12);
  EXPECT_EQ(report.rule("generations")->figure("equal"), 10);
  EXPECT_EQ(report.rule("waits")->verdict, Verdict::pass) << findings_of(report);
  EXPECT_EQ(report.rule("order")->verdict, Verdict::pass) << findings_of(report);
  ASSERT_EQ(report.reloads.size(), 3u);
  const std::int64_t b[] = {3584, 3584, 5376}, p[] = {3583, 3584, 5375};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(report.reloads[i].label, b[i]);
    EXPECT_EQ(report.reloads[i].computed, p[i]);
    EXPECT_FALSE(report.reloads[i].content_observed);
    EXPECT_EQ(report.reloads[i].aligned, b[i] == p[i]);
    EXPECT_EQ(report.reloads[i].first_difference >= 0, b[i] != p[i]);
  }
}

TEST(Totals, ControlArmAlone) {
  ScratchDir dir;
  StudySpec spec = small_spec();
  spec.arm = "control";
  write_archive(dir.path(), spec, false);
  const Report report = audit_or_throw(dir.path(), true);
  EXPECT_EQ(report.verdict, Verdict::pass) << findings_of(report);
  for (const char* rule : {"pages", "poison", "tails", "waits", "boundary", "order", "keys"}) {
    EXPECT_EQ(report.rule(rule)->verdict, Verdict::not_applicable) << rule;
  }
  EXPECT_EQ(report.rule("generations")->verdict, Verdict::pass);
}

TEST(Totals, TablesHaveTheFormOfThePaper) {
  ScratchDir dir;
  copy_good_study(dir.path());
  const Report report = audit_or_throw(dir.path());
  const Table matrix = boundary_matrix(report);
  ASSERT_EQ(matrix.rows.size(), 3u);
  EXPECT_EQ(matrix.rows[1][0], "256");
  EXPECT_EQ(matrix.rows[1][1], "128");
  for (const Table& t : report_tables(report)) {
    for (const auto& row : t.rows)
      EXPECT_EQ(row.size(), t.columns.size()) << t.id;
  }
  EXPECT_EQ(grouped(2447265792), "2,447,265,792");
  EXPECT_EQ(grouped(-12), "-12");
  EXPECT_EQ(grouped(1000), "1,000");
}

} // namespace
} // namespace hitproof::audit::testing
