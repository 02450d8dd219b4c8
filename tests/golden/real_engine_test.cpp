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
                         testing::Values("h200-vllm-lmcache", "h200-vllm-offloading"),
                         name_of_archive);

} // namespace
} // namespace hitproof::e2e
