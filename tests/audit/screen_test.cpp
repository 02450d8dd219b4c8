// The look at all records: what it leaves out changes nothing. Every archive is audited twice, with
// the look and with every query over all records, and both reports must be the same to the letter:
// the good study, every mutation of it, and an archive that was grown.
#include "audit/json.h"
#include "schema/archive.h"
#include "tests/audit/fixture.h"
#include "tests/audit/mutations.h"
#include "tests/bench/grow.h"

#include <gtest/gtest.h>

namespace hitproof::audit::testing {
namespace {

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

void expect_the_same(const std::string& dir) {
  EXPECT_EQ(report_of(dir, false), report_of(dir, true));
}

class ScreenTest : public ::testing::TestWithParam<Mutation> {};

TEST_P(ScreenTest, SaysWhatTheStatementsSay) {
  ScratchDir dir;
  copy_good_study(dir.path());
  change(dir.path(), GetParam().sql, GetParam().reference);
  static_cast<void>(schema::close_archive(dir.path()).ok());
  expect_the_same(dir.path());
}

INSTANTIATE_TEST_SUITE_P(Mutations, ScreenTest, ::testing::ValuesIn(mutations()),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Screen, TheGoodStudyIsTheSame) {
  ScratchDir dir;
  copy_good_study(dir.path());
  expect_the_same(dir.path());
}

} // namespace
} // namespace hitproof::audit::testing
