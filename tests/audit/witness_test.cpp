// A witness is the few records that prove a finding, in the order in which they happened.
#include "audit/rule.h"
#include "audit/trace.h"
#include "tests/audit/fixture.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::audit::testing {
namespace {

const Finding* find(const Report& report, const std::string& rule, const std::string& violation) {
  for (const Finding& f : report.rule(rule)->findings) {
    if (f.violation == violation) return &f;
  }
  return nullptr;
}

std::vector<std::string> tables(const Finding& f) {
  std::vector<std::string> out;
  for (const WitnessRecord& w : f.witness)
    out.push_back(w.table);
  return out;
}

bool in_order(const Finding& f) {
  return std::is_sorted(f.witness.begin(), f.witness.end(),
                        [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
}

TEST(Witness, OfAFaultyLookupIsItsLoadAndItsAdmission) {
  ScratchDir dir;
  StudySpec spec = small_spec();
  spec.full_lookup = true;
  write_archive(dir.path(), spec);
  const Report report = audit_or_throw(dir.path());
  const Finding* f = find(report, "boundary", "label_is_not_p");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(tables(*f), ::testing::UnorderedElementsAre("admission", "transfer"));
  EXPECT_TRUE(in_order(*f));
  const Finding* g = find(report, "generations", "reload_differs_from_cold");
  ASSERT_NE(g, nullptr);
  EXPECT_THAT(tables(*g), ::testing::ElementsAre("study_token", "study_token"))
      << "both tokens, the cold run's first";
}

TEST(Witness, OfAShortCopyIsThePageAndTheCopy) {
  ScratchDir dir;
  copy_good_study(dir.path());
  change(dir.path(), "UPDATE copy SET bytes = bytes - 32 WHERE entry = 3 AND direction = 1");
  const Report report = audit_or_throw(dir.path());
  const Finding* f = find(report, "pages", "bytes_do_not_add_up");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(tables(*f), ::testing::UnorderedElementsAre("transfer_page", "copy"));
  EXPECT_TRUE(in_order(*f));
}

TEST(Statements, AreOneLineAndKeepQuotedText) {
  EXPECT_EQ(one_line("-- a comment\nSELECT  'a -- b' AS x, -- more\n  1\n;\n"),
            "SELECT 'a -- b' AS x, 1");
  EXPECT_EQ(shell_command("a b", "SELECT \"x\", '$y';"),
            "sqlite3 -readonly \"a b/data/recording.sqlite\" \"SELECT \\\"x\\\", '\\$y';\"");
}

} // namespace
} // namespace hitproof::audit::testing
