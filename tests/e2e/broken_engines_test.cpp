// Every broken engine of cli/data/breaks.toml on preset `micro` is caught by its own rule and by no
// rule that must stay silent; the clean twin passes all.
#include "tests/e2e/run.h"

#include <gtest/gtest.h>
#include <toml++/toml.h>

namespace hitproof::e2e {
namespace {

const std::vector<std::string> all_rules = {"pages",    "poison",      "tails", "waits",
                                            "boundary", "generations", "order", "keys",
                                            "control",  "evidence"};

std::vector<std::string> list(const toml::table& entry, const char* key) {
  std::vector<std::string> names;
  if (auto* array = entry[key].as_array())
    for (auto& item : *array)
      names.push_back(item.value_or(std::string()));
  return names;
}

bool in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The control arm and the clean twin are run once for all breaks.
class BrokenEngines : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new TempDir("broken");
    clean_ = study("clean", {"--arms", "both"});
  }
  static void TearDownTestSuite() {
    delete dir_;
    dir_ = nullptr;
  }
  static Outcome study(const std::string& name, const std::vector<std::string>& extra) {
    return run(micro_study("boundary",
                           {"--lengths", "255,256,257,384", "--tokens", "16", "--save-delay-ms",
                            "50", "--out", dir_->path(name)},
                           extra));
  }
  static TempDir* dir_;
  static Outcome clean_;
};
TempDir* BrokenEngines::dir_ = nullptr;
Outcome BrokenEngines::clean_;

TEST_F(BrokenEngines, CleanTwinPassesEveryRule) {
  EXPECT_EQ(clean_.exit_code, 0) << clean_.out << clean_.err;
  auto audit = audit_json(dir_->path("clean/candidate"));
  for (const auto& rule : all_rules)
    EXPECT_EQ(rule_verdict(audit, rule), "pass") << rule;
}

TEST_F(BrokenEngines, EachIsCaughtByItsOwnRule) {
  toml::table file = toml::parse_file(HITPROOF_BREAKS_TOML);
  ASSERT_TRUE(file["break"].as_array());
  EXPECT_EQ(file["break"].as_array()->size(), 12U);
  for (auto& node : *file["break"].as_array()) {
    const auto& entry = *node.as_table();
    const std::string name = entry["name"].value_or(std::string());
    SCOPED_TRACE(name);
    Outcome outcome = study(
        name, {"--arms", "candidate", "--reference", dir_->path("clean/control"), "--break", name});
    EXPECT_TRUE(outcome.exit_code == 1 || outcome.exit_code == 3) << outcome.out << outcome.err;
    auto audit = audit_json(dir_->path(name + "/candidate"));
    const auto must = list(entry, "must"), never = list(entry, "never_pass"),
               may = list(entry, "may");
    for (const auto& rule : all_rules) {
      const std::string verdict = rule_verdict(audit, rule);
      if (in(must, rule)) {
        EXPECT_EQ(verdict, "fail") << rule;
      } else if (in(never, rule)) {
        EXPECT_NE(verdict, "pass") << rule;
      } else if (!in(may, rule)) {
        EXPECT_EQ(verdict, "pass") << rule;
      }
    }
  }
}

// The clean twin of key-omits-weights: the other engine is there, and its weights are in the key.
TEST_F(BrokenEngines, AnotherEngineOnTheServerIsNoFinding) {
  Outcome shared = study("shared", {"--arms", "candidate", "--reference",
                                    dir_->path("clean/control"), "--other-engine"});
  EXPECT_NE(shared.exit_code, 1) << shared.out << shared.err;
  auto audit = audit_json(dir_->path("shared/candidate"));
  for (const auto& rule : all_rules)
    EXPECT_NE(rule_verdict(audit, rule), "fail") << rule;
  for (const char* rule : {"keys", "generations", "poison", "tails", "waits", "order", "control"})
    EXPECT_EQ(rule_verdict(audit, rule), "pass") << rule;
}

TEST_F(BrokenEngines, TooLittleSeenIsInconclusive) {
  auto expect_inconclusive = [](const std::string& name, const std::vector<std::string>& extra) {
    SCOPED_TRACE(name);
    std::vector<std::string> options = {"--arms", "candidate", "--reference",
                                        dir_->path("clean/control")};
    options.insert(options.end(), extra.begin(), extra.end());
    EXPECT_EQ(study(name, options).exit_code, 3);
    EXPECT_EQ(audit_json(dir_->path(name + "/candidate"))["verdict"], "inconclusive");
  };
  expect_inconclusive("without-probe", {"--probes", "off"});
  expect_inconclusive("metadata-only", {"--probes", "metadata"});
  expect_inconclusive("dropped-records", {"--force-drop", "50"});
}

TEST_F(BrokenEngines, EmptyRunIsInconclusive) {
  Outcome empty = run({program("hitproof"), "run", "--out", dir_->path("empty"), "--", "true"});
  EXPECT_EQ(empty.exit_code, 0) << empty.err;
  int code = -1;
  EXPECT_EQ(audit_json(dir_->path("empty"), &code)["verdict"], "inconclusive");
  EXPECT_EQ(code, 3);
}

TEST_F(BrokenEngines, FullLookupIsRefutedAtTheExactBoundariesOnly) {
  Outcome full = study("full", {"--arms", "candidate", "--reference", dir_->path("clean/control"),
                                "--lookup", "full", "--probes", "metadata"});
  EXPECT_EQ(full.exit_code, 1) << full.out << full.err;
  auto audit = audit_json(dir_->path("full/candidate"));
  EXPECT_EQ(rule_verdict(audit, "boundary"), "fail");
  EXPECT_EQ(audit["boundary"]["reloads"], 4);
  EXPECT_EQ(audit["boundary"]["aligned"], 2);
}

} // namespace
} // namespace hitproof::e2e
