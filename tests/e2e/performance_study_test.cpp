// The performance study in a short form: both orders of the arms, warm-ups set aside, every request
// classified by what it did; and what the exports say of it.
#include "tests/e2e/exported.h"
#include "tests/e2e/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

Outcome study(const std::vector<std::string>& options) {
  return run(micro_study("performance", {"--lengths", "256,384", "--tokens", "6"}, options));
}

TEST(PerformanceStudy, OrdersTakeTurnsAndWarmUpsAreSetAside) {
  TempDir dir("performance");
  // All probes, so that the audit can pass; they cost time, which no test here is about.
  const Outcome made = study({"--trials", "2", "--probes", "all", "--repetitions", "2", "--json",
                              "--out", dir.path("out")});
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  const auto both = nlohmann::json::parse(made.out);
  ASSERT_EQ(both["repetitions"].size(), 2u);
  const std::string first = dir.path("out/run-1/candidate"),
                    second = dir.path("out/run-2/candidate");
  for (const auto& report : both["repetitions"]) {
    EXPECT_EQ(report["verdict"], "pass");
    EXPECT_EQ(report["reference"], true);
    // Three trials of two lengths, each cold, repeated and reloaded: all against the control arm.
    EXPECT_EQ(report["generations"]["compared"], 18);
    EXPECT_EQ(report["generations"]["reloads_equal"], 6);
  }
  EXPECT_EQ(order_of_arms(first), "control, candidate");
  EXPECT_EQ(order_of_arms(second), "candidate, control");

  // The engine gives up the last matched block of its own cache: of 256 tokens a repeat finds
  // nothing there, of 384 one block. The candidate finds the rest outside.
  const CsvTable trials = exported_csv({first}, "performance_trials"),
                 times = exported_csv({first}, "performance");
  ASSERT_EQ(trials.rows.size(), 2u);
  EXPECT_EQ(trials.at(0, "OFF repeats"), "recomputed, p = 0");
  EXPECT_EQ(trials.at(1, "OFF repeats"), "local reuse, p = 128");
  EXPECT_EQ(trials.at(0, "ON repeats"), "external reload, p = 128");
  EXPECT_EQ(trials.at(1, "ON repeats"), "local and external, p = 256");
  for (std::size_t row = 0; row < 2; ++row) {
    EXPECT_EQ(trials.at(row, "measured [requests]"), "10");
    EXPECT_EQ(trials.at(row, "set aside [requests]"), "5");
    EXPECT_EQ(trials.at(row, "reloads with B = p and H2D on every rank"), "2 of 2");
    EXPECT_EQ(trials.at(row, "inputs with equal answers"), "2 of 2");
    EXPECT_EQ(times.at(row, "fewest in a median [generations]"), "2");
  }
  const CsvTable runs = exported_csv({first, second, "--repetitions"}, "performance");
  EXPECT_EQ(runs.rows.size(), 4u);
  EXPECT_EQ(exported_csv({first, second, "--repetitions"}, "continuations")
                .named("generations equal to those of 1")
                .back(),
            "18 of 18");
  const Outcome paper = exported({first}, {"--format", "latex", "--table", "performance"});
  EXPECT_THAT(paper.out, HasSubstr("Warm-ups are set aside"));
  EXPECT_THAT(paper.out, Not(HasSubstr("No trial is repeated")));
}

TEST(PerformanceStudy, MetadataObserversAloneProveNoBytes) {
  TempDir dir("performance-metadata");
  const Outcome made =
      study({"--trials", "1", "--warmups", "0", "--order", "on-off", "--out", dir.path("out")});
  EXPECT_EQ(made.exit_code, 3) << made.out << made.err;
  const auto audit = audit_json(dir.path("out/candidate"));
  for (const char* rule : {"generations", "control", "waits", "order", "evidence"})
    EXPECT_EQ(rule_verdict(audit, rule), "pass") << rule;
  EXPECT_EQ(
      exported_csv({dir.path("out/candidate")}, "performance_trials").at(0, "set aside [requests]"),
      "0");
}

} // namespace
} // namespace hitproof::e2e
