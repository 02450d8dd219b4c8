// The selftest tested: it must notice an auditor that is blind, and one that is easily disturbed;
// it leaves archives alone and says what it did not try.
#include "audit/selftest/compare.h"
#include "audit/selftest/selftest.h"
#include "schema/archive.h"
#include "schema/sha256.h"
#include "tests/audit/fixture.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace hitproof::audit::testing {
namespace {

using namespace selftest;
namespace fs = std::filesystem;
using ::testing::HasSubstr;

Score run_or_throw(const std::string& archive, const Settings& settings) {
  auto score = selftest::run(archive, settings);
  if (!score.ok()) throw std::runtime_error(score.status().to_string());
  return std::move(score).value();
}

std::map<std::string, std::string> digests(const std::string& dir) {
  std::map<std::string, std::string> found;
  for (const auto& file : fs::recursive_directory_iterator(dir))
    if (file.is_regular_file())
      found[file.path()] = schema::to_hex(schema::sha256_file(file.path()).value());
  return found;
}

// One control of each rule, each with the auditor blind to what it must say.
TEST(Selftest, NoticesABlindAuditor) {
  std::set<std::string> rules;
  for (const Mutation& m : mutations()) {
    if (m.harmless() || m.answer == Answer::note || !rules.insert(m.rule).second) continue;
    SCOPED_TRACE(m.name);
    Settings settings;
    settings.only = {m.name};
    settings.blind = m.rule + "." + m.violation;
    const Score score = run_or_throw("", settings);
    EXPECT_EQ(score.verdict(), Verdict::fail);
    EXPECT_EQ(score.total().missed, 1);
    EXPECT_THAT(score.trials.at(0).came, HasSubstr(m.rule + " is "));
    EXPECT_THAT(score.sentence(), HasSubstr("0 of 1 mutations caught"));
  }
  EXPECT_EQ(rules.size(), 11U);
}

TEST(Selftest, NoticesARuleThatIsLeftOut) {
  Settings settings;
  settings.only = {"poison"};
  settings.blind = "poison";
  const RuleScore total = run_or_throw("", settings).total();
  EXPECT_EQ(total.mutations, 6);
  EXPECT_EQ(total.missed, 6);
  EXPECT_EQ(total.silent, 1);
}

TEST(Selftest, NoticesAnAuditorThatIsEasilyDisturbed) {
  Settings settings;
  settings.only = {"table_added", "log_added"};
  settings.auditor = [](const std::string& dir) {
    auto report = audit_archive(dir, Options{.refuse_damaged = false});
    auto recording = schema::Recording::open_existing(dir);
    if (report.ok() && recording.ok() && recording->count("selftest_notes").ok()) {
      Finding stumbled;
      stumbled.violation = "excluded";
      stumbled.effect = Verdict::pass; // even a mere note is one too many
      for (RuleReport& rule : report->rules)
        if (rule.name == "evidence") rule.findings.push_back(stumbled);
    }
    return report;
  };
  const Score score = run_or_throw("", settings);
  EXPECT_EQ(score.verdict(), Verdict::fail);
  EXPECT_EQ(score.total().disturbed, 1);
  EXPECT_EQ(score.total().silent, 1);
  EXPECT_EQ(score.trials.at(0).mutation->name, "table_added");
  EXPECT_THAT(score.trials.at(0).came, HasSubstr("evidence/findings"));
}

TEST(Selftest, LeavesTheArchiveAloneAndKeepsWhatWasAskedFor) {
  ScratchDir good, kept;
  copy_good_study(good.path());
  const auto before = digests(good.path());
  Settings settings;
  settings.only = {"pages_short_copy", "rows_backwards"};
  settings.keep = kept.path();
  const Score score = run_or_throw(good.path(), settings);
  EXPECT_EQ(score.verdict(), Verdict::pass) << score.sentence();
  EXPECT_EQ(digests(good.path()), before);
  const Report report = audit_or_throw(kept.path() + "/pages_short_copy", true);
  EXPECT_TRUE(has_finding(report, "pages", "bytes_do_not_add_up")) << findings_of(report);
  EXPECT_EQ(audit_or_throw(kept.path() + "/rows_backwards", true).verdict, Verdict::pass);
}

TEST(Selftest, SaysWhatItCannotTry) {
  ScratchDir dir;
  StudySpec spec = small_spec();
  spec.delays = false;
  write_archive(dir.path(), spec, false);
  Settings settings;
  settings.only = {"control_other_weights", "generations_token_differs", "waits_delay_cut_short",
                   "keys_two_contents"};
  const Score score = run_or_throw(dir.path(), settings);
  EXPECT_EQ(score.verdict(), Verdict::pass);
  EXPECT_EQ(score.total().caught, 1);
  EXPECT_EQ(score.total().skipped, 3);
  EXPECT_THAT(score.sentence(), HasSubstr("3 do not apply here"));
  std::string reasons;
  for (const Trial& trial : score.trials)
    reasons += trial.came + "\n";
  EXPECT_THAT(reasons, ::testing::AllOf(HasSubstr("no control arm"), HasSubstr("as it is"),
                                        HasSubstr("changes nothing")));
  settings.only = {"control_other_weights"};
  EXPECT_EQ(run_or_throw(dir.path(), settings).verdict(), Verdict::inconclusive)
      << "a selftest that tried nothing has not passed";
}

TEST(Selftest, RefusesWhatIsNoGoodArchive) {
  ScratchDir full, damaged, empty;
  StudySpec spec = small_spec();
  spec.full_lookup = true;
  write_archive(full.path(), spec);
  const auto of = [](const std::string& archive, Settings settings = {}) {
    settings.jobs = 1;
    return selftest::run(archive, settings).status();
  };
  EXPECT_EQ(of(full.path()).code(), schema::Code::invalid_argument);
  EXPECT_THAT(of(full.path()).message(), HasSubstr("not a good archive"));
  copy_good_study(damaged.path());
  std::ofstream(damaged.path() + "/data/plan.toml", std::ios::app) << "#";
  EXPECT_EQ(of(damaged.path()).code(), schema::Code::corruption);
  EXPECT_EQ(of(empty.path()).code(), schema::Code::not_found);
  EXPECT_EQ(of(empty.path() + "/nowhere").code(), schema::Code::not_found);
  Settings unknown, unseen;
  unknown.only = {"nonsense"};
  unseen.blind = "pages.nonsense";
  EXPECT_EQ(of("", unknown).code(), schema::Code::invalid_argument);
  EXPECT_EQ(of("", unseen).code(), schema::Code::invalid_argument);
}

TEST(Compare, NamesTheFirstPartThatDiffers) {
  const std::string a = R"({"verdict":"pass","rows":[{"id":1,"n":5},{"id":2,"n":6}]})";
  const std::string b = R"({"verdict":"pass","rows":[{"id":8,"n":5},{"id":9,"n":6}]})";
  const std::string c = R"({"verdict":"pass","rows":[{"id":1,"n":5},{"id":2,"n":7}],"more":1})";
  EXPECT_EQ(selftest::difference(a, a, {}), "");
  EXPECT_EQ(selftest::difference(a, b, {}), "rows/0/id: 1 became 8");
  EXPECT_EQ(selftest::difference(a, b, {{"rows/*/id", ""}}), "");
  EXPECT_EQ(selftest::difference(a, b, {{"rows/*/n", ""}}), "rows/0/id: 1 became 8");
  EXPECT_EQ(selftest::difference(a, c, {}), "rows/1/n: 6 became 7");
  EXPECT_EQ(selftest::difference(a, c, {{"rows", ""}}), "more: 1 was added");
}

} // namespace
} // namespace hitproof::audit::testing
