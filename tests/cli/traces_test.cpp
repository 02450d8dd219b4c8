// Every number of an export is run again: each statement that goes with a figure or a table's cell
// must give that very number in the sqlite3 shell.
#include "audit/dossier.h"
#include "audit/trace.h"
#include "schema/archive.h"
#include "tests/audit/fixture.h"
#include "tests/cli/numbers.h"

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <set>

namespace hitproof::cli::testing {
namespace {

using namespace audit;
using namespace audit::testing;

class Traces : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::system("command -v sqlite3 >/dev/null") != 0)
      GTEST_SKIP() << "no sqlite3 shell on this machine";
    const std::string which = GetParam();
    if (which == "full") {
      StudySpec spec = small_spec();
      spec.full_lookup = true;
      write_archive(dir_.path(), spec);
    } else if (which == "control") {
      StudySpec spec = small_spec();
      spec.arm = "control";
      write_archive(dir_.path(), spec, false);
    } else {
      copy_good_study(dir_.path());
    }
    if (which == "short")
      change(dir_.path(), "UPDATE copy SET bytes = bytes - 32 WHERE entry = 3 AND direction = 1");
    if (which == "dropped") {
      // What rests on absence no longer counts as fail.
      change(dir_.path(), "DELETE FROM copy WHERE entry = 3 AND direction = 1; UPDATE coverage SET "
                          "dropped = 5 WHERE rowid = 1; DELETE FROM wait WHERE rank = 1");
    }
    if (which == "stranger") {
      // An engine that is not recorded saved something before the first request.
      change(dir_.path(),
             "INSERT INTO transfer SELECT process, thread, 900000, (SELECT MIN(t_ns) - "
             "9 FROM request), 77777, 1, stream, key, rank, direction, token_begin, "
             "token_end, boundary, next_token, pages FROM transfer LIMIT 1");
    }
    if (which == "continuation") {
      change(dir_.path(), "INSERT INTO recording VALUES ('study', 'continuation'); INSERT INTO "
                          "recording VALUES ('end_token', (SELECT MIN(token) FROM study_token)); "
                          "UPDATE study_operation SET template = CASE case_index WHEN 0 THEN "
                          "'tagged' ELSE 'ledger' END");
    }
    if (which == "performance") {
      // The first case is the warm-up; another prompt's answer stands as the repeat of the first.
      change(dir_.path(), "INSERT INTO recording VALUES ('study', 'performance'); UPDATE "
                          "study_operation SET trial = case_index + 1, warmup = case_index = 0; "
                          "UPDATE study_operation SET kind = 'repeat', which = 'A' WHERE which = "
                          "'X'");
    }
    DossierOptions options;
    options.refuse_damaged = false;
    auto made = make_dossier(dir_.path(), options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    dossier_ = std::move(made).value();
  }

  void expect(const std::string& name, const std::string& shown, const Trace& trace) {
    if (trace.statement.empty()) return;
    EXPECT_EQ(trace.statement.find('\n'), std::string::npos) << name << " is not one line";
    const std::string printed = run(shell_command(dir_.path(), trace.script()));
    EXPECT_EQ(numbers_in(printed), numbers_in(shown)) << name << "\n" << trace.script();
    ++checked_;
  }

  ScratchDir dir_;
  Dossier dossier_;
  int checked_ = 0;
};

TEST_P(Traces, GiveTheFiguresOfTheRules) {
  for (const RuleReport& r : dossier_.report.rules) {
    expect(r.name + " observations", std::to_string(r.observations), r.observed);
    for (const Figure& f : r.figures) {
      std::string shown;
      if (const auto* n = std::get_if<std::int64_t>(&f.value)) {
        shown = std::to_string(*n);
      } else {
        for (const std::int64_t each : std::get<std::vector<std::int64_t>>(f.value))
          shown += std::to_string(each) + " ";
      }
      EXPECT_FALSE(f.trace.source.empty()) << r.name << "." << f.name << " has no source";
      expect(r.name + "." + f.name, shown, f.trace);
    }
    for (const Finding& f : r.findings)
      expect(f.violation, std::to_string(f.count), f.counted);
  }
  EXPECT_GE(checked_, 15);
}

TEST_P(Traces, GiveTheCellsOfTheTables) {
  std::set<std::string> tables;
  for (const Table& t : dossier_.tables) {
    ASSERT_EQ(t.traces.size(), t.rows.size()) << t.id;
    for (std::size_t r = 0; r < t.rows.size(); ++r) {
      ASSERT_EQ(t.traces[r].size(), t.columns.size()) << t.id;
      ASSERT_EQ(t.rows[r].size(), t.columns.size()) << t.id;
      for (std::size_t c = 0; c < t.columns.size(); ++c) {
        const std::string name = t.id + ", row " + std::to_string(r + 1) + ", " + t.columns[c].name;
        // A column of numbers has no number without a source.
        if (t.columns[c].number && !numbers_in(t.rows[r][c]).empty()) {
          EXPECT_FALSE(t.traces[r][c].source.empty()) << name;
        }
        expect(name, t.rows[r][c], t.traces[r][c]);
      }
    }
    if (!t.rows.empty()) tables.insert(t.id);
  }
  for (const TimingGroup& g : dossier_.timings.groups) {
    char shown[96];
    std::snprintf(shown, sizeof shown, "%.1f %.1f %.1f", g.least, g.median, g.most);
    expect(g.condition, shown, g.trace);
  }
  EXPECT_TRUE(tables.count("rules") && tables.count("entries") && tables.count("performance"));
  EXPECT_EQ(tables.count("continuation_cases"),
            std::string(GetParam()) == "continuation" ? 1u : 0u);
  EXPECT_EQ(tables.count("performance_trials"), std::string(GetParam()) == "performance" ? 1u : 0u);
  EXPECT_GE(checked_, 30);
}

INSTANTIATE_TEST_SUITE_P(Archives, Traces,
                         ::testing::Values("good", "full", "short", "dropped", "stranger",
                                           "control", "continuation", "performance"));

} // namespace
} // namespace hitproof::cli::testing
