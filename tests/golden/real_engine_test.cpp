// Recordings of engines that nobody here wrote: what the ledger holds of them, as queries with the
// rows that they must give.
#include "tests/golden/unpacked.h"

namespace hitproof::e2e {
namespace {

class RealEngine : public Unpacked {
 protected:
  std::string rows_of(const std::string& sql) const {
    const Outcome outcome = run({"sqlite3", "-readonly", dir_.path("data/recording.sqlite"), sql});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  }
  // The words of the facts that do not hold.
  std::vector<std::string> untrue() const {
    std::vector<std::string> words;
    const nlohmann::json all = expected();
    for (const auto& fact : all["facts"]) {
      std::string wanted;
      for (const std::string row : fact["rows"])
        wanted += row + "\n";
      if (const std::string found = rows_of(fact["sql"]); found != wanted)
        words.push_back(std::string(fact["says"]) + ": " + found);
    }
    return words;
  }
};

TEST_P(RealEngine, TheLedgerHoldsWhatTheEngineDid) {
  EXPECT_GT(expected()["facts"].size(), 2u);
  EXPECT_EQ(untrue(), std::vector<std::string>{});
}

// Without an adapter nobody says what the bytes mean: nothing is proved, and it is said what lacks.
TEST_P(RealEngine, WithoutAnAdapterTheVerdictIsInconclusive) {
  EXPECT_EQ(run({program("hitproof"), "verify", dir_.path()}).exit_code, 0);
  int code = -1;
  const auto audit = audit_json(dir_.path(), &code);
  EXPECT_EQ(code, expected()["exit"]);
  EXPECT_EQ(audit["verdict"], expected()["audit"]["verdict"]);
  EXPECT_FALSE(audit["pages"]["missing"].empty());
  const nlohmann::json rules = expected().value("rules", nlohmann::json::object());
  for (const auto& [rule, verdict] : rules.items())
    EXPECT_EQ(rule_verdict(audit, rule), verdict) << rule;
}

// The control: with one copy less the facts are no longer the same.
TEST_P(RealEngine, AMissingCopyIsSeen) {
  ASSERT_EQ(run({"sqlite3", dir_.path("data/recording.sqlite"),
                 "DELETE FROM copy WHERE rowid = (SELECT MAX(rowid) FROM copy WHERE bytes = "
                 "(SELECT bytes FROM copy WHERE direction = 0 GROUP BY bytes ORDER BY SUM(bytes) "
                 "DESC LIMIT 1))"})
                .exit_code,
            0);
  EXPECT_FALSE(untrue().empty());
}

INSTANTIATE_TEST_SUITE_P(Archives, RealEngine,
                         testing::Values("h200-vllm-lmcache", "h200-vllm-lmcache-crosscheck",
                                         "h200-vllm-offloading"),
                         name_of_archive);

// What the engine generated, in runs of one day: the same with the probe and without it, and, with
// LMCache's fault at 3 x 256 tokens, not what it had generated before.
TEST(RealEngineTokens, AreTheSameWithTheProbe) {
  std::ifstream file(std::filesystem::path(HITPROOF_GOLDEN_DIR) / "h200-vllm-tokens.json");
  const auto all = nlohmann::json::parse(file);
  for (const char* connector : {"lmcache", "offloading"}) {
    const auto& runs = all[connector];
    const auto& bare = runs["without the probe"];
    EXPECT_EQ(bare.size(), 12u) << "three prompts: cold, repeated, twice reloaded";
    EXPECT_GE(runs.size(), 2u);
    for (const auto& [mode, generated] : runs.items())
      EXPECT_EQ(generated, bare) << connector << ", " << mode;
    for (const char* length : {"767", "768", "769"}) {
      const bool faulty = connector == std::string("lmcache") && length == std::string("768");
      for (const char* again : {"local", "reload", "reload2_"})
        EXPECT_EQ(bare[again + std::string(length)]["ids"] !=
                      bare["cold" + std::string(length)]["ids"],
                  faulty)
            << connector << ' ' << again << length;
    }
  }
}

} // namespace
} // namespace hitproof::e2e
