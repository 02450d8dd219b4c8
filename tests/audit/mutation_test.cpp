// Every rule is broken on purpose and must answer by name; harmless changes must stay silent.
#include "schema/archive.h"
#include "tests/audit/fixture.h"
#include "tests/audit/mutations.h"

#include <gtest/gtest.h>
#include <set>

namespace hitproof::audit::testing {
namespace {

class MutationTest : public ::testing::TestWithParam<Mutation> {};

TEST_P(MutationTest, IsAnswered) {
  const Mutation& m = GetParam();
  ScratchDir dir;
  copy_good_study(dir.path());
  change(dir.path(), m.sql, m.reference);
  // The manifests follow the change, so that the records alone have to answer for it.
  static_cast<void>(schema::close_archive(dir.path()).ok());
  const Report report = audit_or_throw(dir.path());
  const RuleReport* rule = report.rule(m.rule);
  ASSERT_NE(rule, nullptr);
  if (m.violation == nullptr) {
    EXPECT_EQ(rule->verdict, Verdict::pass) << findings_of(report);
    return;
  }
  EXPECT_TRUE(has_finding(report, m.rule, m.violation)) << findings_of(report);
  EXPECT_EQ(rule->verdict, m.fails ? Verdict::fail : Verdict::inconclusive) << findings_of(report);
  EXPECT_NE(report.verdict, Verdict::pass);
  for (const Finding& f : rule->findings) {
    EXPECT_EQ(f.words.find('{'), std::string::npos) << f.words;
    if (f.violation == m.violation && f.first.transfer) {
      EXPECT_FALSE(f.witness.empty()) << f.violation;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mutations, MutationTest, ::testing::ValuesIn(mutations()),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Mutations, EveryRuleHasAControlAndAHarmlessChange) {
  std::set<std::string> must_fail, harmless;
  for (const Mutation& m : mutations()) {
    if (m.violation == nullptr)
      harmless.insert(m.rule);
    else if (m.fails)
      must_fail.insert(m.rule);
  }
  for (const char* rule : {"pages", "poison", "tails", "waits", "boundary", "generations", "order",
                           "keys", "control", "crosscheck"}) {
    EXPECT_TRUE(must_fail.count(rule)) << rule;
    EXPECT_TRUE(harmless.count(rule)) << rule;
  }
}

TEST(Mutations, TheGoodStudyPasses) {
  ScratchDir dir;
  copy_good_study(dir.path());
  const Report report = audit_or_throw(dir.path(), true);
  EXPECT_EQ(report.verdict, Verdict::pass) << findings_of(report);
  for (const RuleReport& r : report.rules)
    EXPECT_EQ(r.verdict, Verdict::pass) << r.name << "\n" << findings_of(report);
}

} // namespace
} // namespace hitproof::audit::testing
