// The continuation study in a short form: every template and the bridge, both arms, two
// repetitions; what the exports say of them; and a state under a wrong boundary, which its rule
// must refute.
#include "schema/plan.h"
#include "tests/e2e/exported.h"
#include "tests/e2e/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

Outcome study(const std::vector<std::string>& options) {
  return run(micro_study("continuation", {"--lengths", "256", "--save-delay-ms", "5"}, options));
}

TEST(ContinuationStudy, RepetitionsPassAndAgree) {
  TempDir dir("continuation");
  const Outcome made = study({"--tokens", "12", "--bridge-tokens", "8", "--repetitions", "2",
                              "--json", "--out", dir.path("out")});
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  const auto both = nlohmann::json::parse(made.out);
  ASSERT_EQ(both["repetitions"].size(), 2u);
  const std::string first = dir.path("out/run-1/candidate"),
                    second = dir.path("out/run-2/candidate");
  for (const auto& report : both["repetitions"]) {
    EXPECT_EQ(report["verdict"], "pass");
    // Bridge and three templates at one length, four generations each.
    EXPECT_EQ(report["generations"]["compared"], 16);
    EXPECT_EQ(report["generations"]["equal"], 16);
  }
  const auto plan = schema::read_plan(first + "/data/plan.toml");
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->study, "continuation");
  EXPECT_EQ(plan->bridge_length, 255u); // the first case of a boundary study

  const CsvTable cases = exported_csv({first}, "continuation_cases");
  ASSERT_EQ(cases.rows.size(), 4u);
  EXPECT_EQ(cases.at(0, "template"), "tagged");
  EXPECT_EQ(cases.at(0, "N [tokens]"), "255");
  EXPECT_EQ(cases.at(0, "output tokens [count]"), "32");
  EXPECT_EQ(cases.at(2, "template"), "rules");
  EXPECT_EQ(cases.at(2, "output tokens [count]"), "48");
  EXPECT_EQ(cases.at(2, "equal to the control's"), "4 of 4");
  EXPECT_EQ(cases.at(2, "reload equal to cold"), "1 of 1");
  // B = C floor((N-1)/C), C = 128.
  EXPECT_EQ(cases.at(2, "B [tokens]"), "128");
  EXPECT_EQ(cases.at(2, "p [tokens]"), "128");
  EXPECT_EQ(cases.at(2, "scheduled [tokens]"), "128");
  EXPECT_EQ(cases.at(2, "drafts in its first batches [tokens]"), "0");
  EXPECT_EQ(cases.at(2, "preemptions [count]"), "0");

  const Outcome totals = exported({first}, {"--format", "latex", "--table", "continuations"});
  EXPECT_THAT(totals.out, HasSubstr("end-of-sequence ids in the output"));
  EXPECT_THAT(totals.out, Not(HasSubstr("No record names a prompt's template")));
  EXPECT_THAT(totals.out, Not(HasSubstr("does not state the end-of-sequence id")));

  const CsvTable together = exported_csv({first, second, "--repetitions"}, "continuations");
  EXPECT_EQ(together.named("generations equal to those of 1").back(), "16 of 16");
  EXPECT_EQ(together.named("first batches of reloads without a draft, over the ranks").back(),
            "16 of 16");
  EXPECT_EQ(exported_csv({first, second, "--repetitions"}, "continuation_cases").rows.size(), 8u);
  for (const char* format : {"json", "latex"})
    EXPECT_EQ(exported({first, second, "--repetitions"}, {"--format", format}).exit_code, 0);

  // A state under a wrong boundary, against the control arm of the first repetition.
  const Outcome broken = study({"--tokens", "12", "--bridge-tokens", "0", "--templates", "code",
                                "--arms", "candidate", "--reference", dir.path("out/run-1/control"),
                                "--break", "state-wrong-boundary", "--out", dir.path("broken")});
  EXPECT_EQ(broken.exit_code, 1) << broken.out << broken.err;
  EXPECT_EQ(rule_verdict(audit_json(dir.path("broken/candidate")), "boundary"), "fail");
}

TEST(ContinuationStudy, WhatCannotBeIsRefused) {
  TempDir dir("refused-continuation");
  const Outcome unknown = study({"--templates", "verse", "--out", dir.path("a")});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("verse"));
  const Outcome twice = study({"--templates", "code,code", "--out", dir.path("b")});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.err, HasSubstr("names a template twice"));
  const Outcome long_answer = study({"--tokens", "4000", "--out", dir.path("c")});
  EXPECT_EQ(long_answer.exit_code, 2);
  EXPECT_THAT(long_answer.err, HasSubstr("passes the model's limit"));
}

} // namespace
} // namespace hitproof::e2e
