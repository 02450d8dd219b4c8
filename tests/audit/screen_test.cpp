// The look at all records: what it leaves out changes nothing. Every archive is audited twice, with
// the look and with every query over all records, and both reports must be the same to the letter:
// the good study, every mutation of a smaller one, and an archive that was grown.
#include "audit/json.h"
#include "audit/selftest/mutation.h"
#include "schema/archive.h"
#include "tests/audit/fixture.h"
#include "tests/bench/grow.h"

#include <cstdlib>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::audit::testing {
namespace {

using selftest::Arm;
using selftest::Mutation;

// Those that change one recording's rows; changed files end before any rule.
std::vector<Mutation> row_mutations() {
  std::vector<Mutation> found;
  for (const Mutation& m : selftest::mutations())
    if (!m.sql.empty() && m.further.arm != Arm::both) found.push_back(m);
  return found;
}

std::string report_of(const std::string& dir, bool statements_only) {
  Options options;
  options.refuse_damaged = false;
  options.statements_only = statements_only;
  const auto report = audit_archive(dir, options);
  if (!report.ok()) return report.status().to_string();
  std::string out = to_json(*report);
  for (const RuleReport& r : report->rules)
    for (const Finding& f : r.findings)
      for (const WitnessRecord& w : f.witness)
        out += f.violation + ": " + w.words + "\n";
  return out;
}

// Returns what both say.
std::string expect_the_same(const std::string& dir) {
  auto looked = std::async(std::launch::async, report_of, dir, false);
  const std::string stated = report_of(dir, true);
  EXPECT_EQ(looked.get(), stated);
  return stated;
}

class ScreenTest : public ::testing::TestWithParam<Mutation> {};

TEST_P(ScreenTest, SaysWhatTheStatementsSay) {
  ScratchDir dir;
  copy_smallest_study(dir.path());
  change(dir.path(), GetParam().sql, GetParam().further.arm == Arm::control);
  static_cast<void>(schema::close_archive(dir.path()).ok());
  // A mutation that this study does not show would hold nothing against anything.
  EXPECT_THAT(expect_the_same(dir.path()), ::testing::HasSubstr(GetParam().violation));
}

INSTANTIATE_TEST_SUITE_P(Mutations, ScreenTest, ::testing::ValuesIn(row_mutations()),
                         [](const auto& instance) { return instance.param.name; });

TEST(Screen, TheGoodStudyIsTheSame) {
  ScratchDir dir;
  copy_good_study(dir.path());
  expect_the_same(dir.path());
}

// A stranger's archive may say that thousands of threads wrote records with far numbers.
TEST(Screen, FarNumbersInManyThreadsAreLeftToTheStatements) {
  ScratchDir dir;
  copy_good_study(dir.path());
  change(dir.path(), "UPDATE order_op SET thread = 1000000 + rowid, seq = 20000 + rowid");
  static_cast<void>(schema::close_archive(dir.path()).ok());
  expect_the_same(dir.path());
  const Report report = audit_or_throw(dir.path());
  EXPECT_TRUE(has_finding(report, "evidence", "records_missing")) << findings_of(report);
}

class GoldenScreenTest : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenScreenTest, SaysWhatTheStatementsSay) {
  ScratchDir dir;
  // Not tar, which needs a program for xz beside it.
  const std::string command = "cd '" + dir.path() +
                              "' && '" HITPROOF_CMAKE "' -E tar xf '" HITPROOF_GOLDEN_DIR "/" +
                              GetParam() + ".tar.xz'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::string folder = dir.path();
  for (const auto& item : std::filesystem::directory_iterator(dir.path()))
    if (std::filesystem::exists(item.path() / "data/recording.sqlite")) folder = item.path();
  ASSERT_TRUE(std::filesystem::exists(folder + "/data/recording.sqlite"));
  expect_the_same(folder);
}

INSTANTIATE_TEST_SUITE_P(Archives, GoldenScreenTest,
                         ::testing::Values("h200-paper-study", "h200-vllm-lmcache",
                                           "h200-vllm-offloading"));

// What audit_bench measures is a recording that passes, with all of its traffic there as often.
TEST(Grow, AGrownArchivePassesEveryRule) {
  ScratchDir dir;
  copy_good_study(dir.path());
  const auto small = bench::count_rows(dir.path());
  const std::string grown = dir.path() + "/grown";
  const auto status = bench::grow_archive(dir.path(), grown, 4);
  ASSERT_TRUE(status.ok()) << status.to_string();
  const auto large = bench::count_rows(grown);
  ASSERT_TRUE(small.ok() && large.ok());
  EXPECT_EQ(large->page, 4 * small->page);
  EXPECT_GT(large->narrow, 3 * small->narrow);
  expect_the_same(grown);
  const Report report = audit_or_throw(grown, true);
  EXPECT_EQ(report.verdict, Verdict::pass) << findings_of(report);
  EXPECT_EQ(report.rule("waits")->figure("saves"),
            4 * audit_or_throw(dir.path()).rule("waits")->figure("saves"));
  // The control: one page of the last copy that landed as other bytes.
  change(grown, "UPDATE page_digest SET content = zeroblob(32) WHERE rowid = (SELECT MAX(rowid) "
                "FROM page_digest WHERE place = 0 AND moment = 1)");
  expect_the_same(grown);
  EXPECT_EQ(audit_or_throw(grown).rule("pages")->verdict, Verdict::fail);
}

} // namespace
} // namespace hitproof::audit::testing
