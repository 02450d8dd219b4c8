// Another tool in the recorded program: the program goes on, and the audit says that the recording
// is not the whole truth, with the tool's name or the cause.
#include "schema/shell_word.h"
#include "tests/audit/fixture.h"
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hitproof::cli::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

struct Audited {
  Ran ran;
  nlohmann::json report;

  const nlohmann::json& rule(const std::string& name) const { return report.at(name); }
  // Violations with their effects.
  std::vector<std::string> findings(const std::string& name) const {
    std::vector<std::string> found;
    for (const auto& f : rule(name).at("findings"))
      found.push_back(f.at("effect").get<std::string>() + " " +
                      f.at("violation").get<std::string>());
    return found;
  }
};

Audited record(const std::string& environment, const std::string& options) {
  audit::testing::ScratchDir folder;
  const std::string out = schema::shell_word(folder.path() + "/r");
  Audited a;
  a.ran = run_shell(environment + " hitproof run --quiet " + options + " --out " + out +
                    " -- " HITPROOF_SUBJECT " once");
  a.report = nlohmann::json::parse(run_shell("hitproof audit --json " + out).out);
  return a;
}

std::vector<std::string> missing(const nlohmann::json& rule) {
  return rule.at("missing").get<std::vector<std::string>>();
}

// The control of the others.
TEST(OtherTools, AloneEvidencePassesAndCuptiAgrees) {
  const Audited a = record("FAKE_CUPTI=works FAKE_CUPTI_COPIES='1 36' "
                           "LD_LIBRARY_PATH=" HITPROOF_FAKE_CUPTI_FOLDER,
                           "--cross-check --probes metadata");
  EXPECT_EQ(a.ran.exit, 0) << a.ran.err;
  EXPECT_EQ(a.rule("evidence").at("verdict"), "pass");
  EXPECT_EQ(a.rule("crosscheck").at("verdict"), "pass");
}

TEST(OtherTools, AHookOfAnotherLibraryMakesEvidenceInconclusive) {
  const Audited a = record("LD_PRELOAD=" HITPROOF_FOREIGN_HOOK, "--probes metadata");
  EXPECT_EQ(a.ran.exit, 0) << a.ran.err;
  EXPECT_THAT(a.ran.err, HasSubstr(HITPROOF_FOREIGN_HOOK " has a "));
  const auto& evidence = a.rule("evidence");
  EXPECT_EQ(evidence.at("verdict"), "inconclusive");
  EXPECT_THAT(a.findings("evidence"), Contains("inconclusive blind_path_used"));
  EXPECT_THAT(missing(evidence),
              Contains(AllOf(HasSubstr("probe_foreign_next.so"), HasSubstr("record without it"))));
}

TEST(OtherTools, AClientThatTookCuptiOverIsNoFinding) {
  for (const char* mode : {"silent", "keeps", "another"}) {
    const Audited a =
        record(std::string("FAKE_CUPTI=") + mode + " LD_LIBRARY_PATH=" HITPROOF_FAKE_CUPTI_FOLDER,
               "--cross-check --probes metadata");
    EXPECT_EQ(a.ran.exit, 0) << a.ran.err;
    const auto& crosscheck = a.rule("crosscheck");
    EXPECT_EQ(crosscheck.at("verdict"), "inconclusive") << mode;
    EXPECT_THAT(a.findings("crosscheck"), Contains("inconclusive session_refused")) << mode;
    EXPECT_THAT(a.findings("crosscheck"), Not(Contains(HasSubstr("fail")))) << mode;
    EXPECT_THAT(missing(crosscheck), Contains(HasSubstr("CUPTI did not count in 1 process: ")));
  }
}

} // namespace
} // namespace hitproof::cli::testing
