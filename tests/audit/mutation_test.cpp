// Every rule is broken on purpose and must answer by name; harmless changes must stay silent. The
// list is that of `hitproof selftest`, and so is the judge; one run answers for all cases.
#include "audit/selftest/selftest.h"
#include "tests/audit/fixture.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace hitproof::audit::testing {
namespace {

using namespace selftest;

const Trial& trial_of(const Mutation& m) {
  static const schema::Result<Score> score = selftest::run("");
  static const std::map<std::string, const Trial*> by_name = [] {
    std::map<std::string, const Trial*> found;
    if (score.ok())
      for (const Trial& trial : score->trials)
        found[trial.mutation->name] = &trial;
    return found;
  }();
  if (!score.ok()) throw std::runtime_error(score.status().to_string());
  return *by_name.at(m.name);
}

class MutationTest : public ::testing::TestWithParam<Mutation> {};

TEST_P(MutationTest, IsAnswered) {
  const Trial& trial = trial_of(GetParam());
  EXPECT_EQ(trial.outcome, Outcome::answered) << trial.came;
}

INSTANTIATE_TEST_SUITE_P(Mutations, MutationTest, ::testing::ValuesIn(mutations()),
                         [](const auto& instance) { return instance.param.name; });

TEST(Mutations, EveryRuleHasAControlAndAHarmlessChange) {
  std::set<std::string> names, must_fail, harmless;
  std::int64_t broken = 0, silent = 0;
  for (const Mutation& m : mutations()) {
    EXPECT_TRUE(names.insert(m.name).second) << m.name << " is there twice";
    EXPECT_FALSE(m.words.empty()) << m.name;
    EXPECT_EQ(m.harmless(), m.violation.empty()) << m.name;
    ++(m.harmless() ? silent : broken);
    if (m.harmless())
      harmless.insert(m.rule);
    else if (m.answer == Answer::fail)
      must_fail.insert(m.rule);
  }
  EXPECT_GE(broken, 60);
  EXPECT_GE(silent, 20);
  for (const char* rule : {"pages", "poison", "tails", "waits", "boundary", "generations", "order",
                           "keys", "control", "crosscheck", "evidence"}) {
    EXPECT_TRUE(must_fail.count(rule)) << rule;
    EXPECT_TRUE(harmless.count(rule == std::string("evidence") ? "all" : rule)) << rule;
  }
}

TEST(Mutations, ReachEveryViolationThatHasAnIdentifier) {
  std::set<std::string> reached;
  for (const Mutation& m : mutations())
    if (!m.harmless()) reached.insert(m.rule + "." + m.violation);
  std::ifstream list(HITPROOF_SOURCE_DIR "/audit/rules/identifiers.txt");
  std::int64_t identifiers = 0;
  for (std::string id; std::getline(list, id); ++identifiers)
    EXPECT_TRUE(reached.count(id)) << id;
  EXPECT_GE(identifiers, 140);
}

// docs/selftest.md has an example of each kind of change, under the names of the list.
TEST(Mutations, AreNamedRightlyInTheirPage) {
  std::set<std::string> names;
  for (const Mutation& m : mutations())
    names.insert(m.name);
  std::ifstream page(HITPROOF_SOURCE_DIR "/docs/selftest.md");
  int examples = 0;
  for (std::string line; std::getline(page, line) && line != "## On archives of your own";) {
    if (line.rfind("| ", 0) != 0) continue;
    for (std::size_t at = line.find('`'); at != std::string::npos; ++examples) {
      const std::size_t end = line.find('`', at + 1);
      const std::string name = line.substr(at + 1, end - at - 1);
      EXPECT_TRUE(names.count(name)) << name;
      at = line.find('`', end + 1);
    }
  }
  EXPECT_GE(examples, 20);
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
