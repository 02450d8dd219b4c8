// Several archives in one set of tables: what is shown is each archive's own, only what was
// declared to repeat one another is compared and pooled, and every number has a statement that
// gives it.
#include "audit/together.h"
#include "audit/trace.h"
#include "cli/formats/figures.h"
#include "tests/audit/fixture.h"
#include "tests/cli/numbers.h"

#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string_view>

namespace hitproof::cli::testing {
namespace {

using namespace audit;
using namespace audit::testing;
using ::testing::Contains;
using ::testing::HasSubstr;

const char* const later =
    "UPDATE study_token SET t_ns = t_ns + 3000000; UPDATE study_operation SET end_ns = end_ns + "
    "3000000 WHERE end_ns > 0";
const char* const interval = "INSERT INTO recording VALUES ('checkpoint', '128')";

// Folders of a first run, its repetition with later tokens, and one with full lookup.
struct Archives {
  ScratchDir first, second, full;
  Archives() {
    write_archive(first.path(), small_spec());
    write_archive(second.path(), small_spec());
    StudySpec spec = small_spec();
    spec.full_lookup = true;
    write_archive(full.path(), spec);
    for (const bool reference : {false, true})
      change(second.path(), later, reference);
    change(first.path(), interval);
    change(second.path(), interval);
  }
};

const Archives& archives() {
  static const Archives made;
  return made;
}

Dossier dossier_of(const std::string& dir) {
  DossierOptions options;
  options.refuse_damaged = false; // changed after their close
  auto made = make_dossier(dir, options);
  if (!made.ok()) throw std::runtime_error(made.status().to_string());
  return std::move(made).value();
}

TogetherOptions named(const std::vector<std::string>& names, bool repetitions) {
  return {names, repetitions};
}

const Table& table_of(const Dossier& d, std::string_view id) {
  for (const Table& t : d.tables) {
    if (t.id == id) return t;
  }
  throw std::runtime_error("no table " + std::string(id));
}

std::string cell(const Table& t, const std::string& row, const std::string& column) {
  for (std::size_t c = 0; c < t.columns.size(); ++c) {
    if (t.columns[c].name != column) continue;
    for (const auto& cells : t.rows) {
      if (cells[0] == row) return cells[c];
    }
  }
  return "no such cell";
}

Dossier repeated() {
  auto d = put_together({dossier_of(archives().first.path()), dossier_of(archives().second.path())},
                        named({"one", "two"}, true));
  if (!d.ok()) throw std::runtime_error(d.status().to_string());
  return std::move(d).value();
}

TEST(Together, EachRowIsOfOneArchive) {
  const std::vector<Dossier> members = {dossier_of(archives().first.path()),
                                        dossier_of(archives().full.path())};
  auto d = put_together(members, named({"strict", "full"}, false));
  ASSERT_TRUE(d.ok()) << d.status().to_string();
  for (const char* id : {"boundary_matrix", "regression", "performance", "numerical_control"}) {
    const Table& all = table_of(*d, id);
    std::size_t at = 0;
    for (std::size_t m = 0; m < members.size(); ++m) {
      for (const auto& row : table_of(members[m], id).rows) {
        ASSERT_LT(at, all.rows.size()) << id;
        std::vector<std::string> expected = {std::to_string(m + 1)};
        expected.insert(expected.end(), row.begin(), row.end());
        EXPECT_EQ(all.rows[at++], expected) << id;
      }
    }
    EXPECT_EQ(at, all.rows.size()) << id;
    EXPECT_THAT(all.notes.back(), HasSubstr("2 = full (full lookup, audit: fail"));
    EXPECT_THAT(all.notes.back(), HasSubstr("nothing is pooled"));
  }
  // The paper's Table 4: before with full lookup, after with strict.
  const Table& matrix = table_of(*d, "boundary_before_after");
  EXPECT_EQ(cell(matrix, "256", "B before"), "256");
  EXPECT_EQ(cell(matrix, "256", "p before"), "255");
  EXPECT_EQ(cell(matrix, "256", "B = p after"), "128");
  EXPECT_EQ(cell(matrix, "255", "B before"), cell(matrix, "255", "p before"));
  EXPECT_TRUE(d->timings.runs.empty());
  for (const TimingGroup& g : d->timings.groups)
    EXPECT_TRUE(g.condition[0] == '1' || g.condition[0] == '2') << "groups of two are not mixed";
}

TEST(Together, RepetitionsAgreeOrSayWhereTheyDoNot) {
  const Table agreed = table_of(repeated(), "continuations");
  EXPECT_EQ(cell(agreed, "generations equal to those of 1", "2 candidate"), "12 of 12");
  EXPECT_EQ(cell(agreed, "generations equal to those of 1", "2 control"), "12 of 12");
  EXPECT_EQ(cell(agreed, "generations equal to those of 1", "1 candidate"), "-");
  EXPECT_EQ(cell(agreed, "reloads with B = C floor((N-1)/C)", "2 candidate"), "3 of 3");
  EXPECT_EQ(cell(agreed, "reloads that schedule N - B first", "1 candidate"), "3 of 3");
  // The control: one token of one generation is another.
  ScratchDir other;
  write_archive(other.path(), small_spec());
  change(other.path(), "UPDATE study_token SET token = token + 1 WHERE op = 0 AND position = 15");
  auto d = put_together({dossier_of(archives().first.path()), dossier_of(other.path())},
                        named({"one", "other"}, true));
  ASSERT_TRUE(d.ok()) << d.status().to_string();
  const Table& differs = table_of(*d, "continuations");
  EXPECT_EQ(cell(differs, "generations equal to those of 1", "2 candidate"), "11 of 12");
  EXPECT_EQ(cell(differs, "generations equal to those of 1", "2 control"), "12 of 12");
}

TEST(Together, WhatIsNoRepetitionIsRefused) {
  const std::string first = archives().first.path(), full = archives().full.path();
  const auto refusal = [&](const std::string& dir) {
    const auto d = put_together({dossier_of(first), dossier_of(dir)}, named({"one", "two"}, true));
    EXPECT_EQ(d.status().code(), schema::Code::invalid_argument);
    return d.status().message();
  };
  EXPECT_THAT(refusal(full), HasSubstr("lookup"));
  ScratchDir copied;
  std::filesystem::copy(first, copied.path(), std::filesystem::copy_options::recursive);
  EXPECT_THAT(refusal(copied.path()), HasSubstr("the same recording"));
  ScratchDir longer;
  write_archive(longer.path(), small_spec());
  std::ifstream in(longer.path() + "/data/plan.toml");
  std::string plan((std::istreambuf_iterator<char>(in)), {});
  plan.replace(plan.find("tokens = 16"), 11, "tokens = 17");
  std::ofstream(longer.path() + "/data/plan.toml") << plan;
  EXPECT_THAT(refusal(longer.path()), HasSubstr("'tokens = 16'"));
}

TEST(Together, TheFigurePoolsRepetitionsAlone) {
  const Dossier d = repeated();
  const Dossier one = dossier_of(archives().first.path());
  const Dossier two = dossier_of(archives().second.path());
  EXPECT_EQ(d.timings.points.size(), one.timings.points.size() + two.timings.points.size());
  ASSERT_EQ(d.timings.groups.size(), one.timings.groups.size());
  for (std::size_t i = 0; i < d.timings.groups.size(); ++i) {
    const TimingGroup &all = d.timings.groups[i], &a = one.timings.groups[i],
                      &b = two.timings.groups[i];
    EXPECT_EQ(all.points, a.points + b.points);
    EXPECT_EQ(all.least, std::min(a.least, b.least));
    EXPECT_EQ(all.most, std::max(a.most, b.most));
    EXPECT_GE(all.median, std::min(a.median, b.median));
    EXPECT_LE(all.median, std::max(a.median, b.median));
    EXPECT_NEAR(b.least - a.least, 3, .11) << "every token came 3 ms later";
  }
  const Picture picture = timings_figure(d);
  EXPECT_THAT(picture.description(), HasSubstr("over 2 declared repetitions"));
  EXPECT_THAT(picture.title(), HasSubstr("(simulated"));
}

TEST(Together, StatementsGiveTheNumbers) {
  if (std::system("command -v sqlite3 >/dev/null") != 0)
    GTEST_SKIP() << "no sqlite3 shell on this machine";
  int checked = 0;
  const auto expect = [&](const std::string& name, const std::string& shown, const Trace& trace) {
    if (trace.statement.empty()) return;
    ASSERT_FALSE(trace.archive.empty()) << name << ": of which archive?";
    EXPECT_EQ(numbers_in(run(shell_command(trace.archive, trace.script()))), numbers_in(shown))
        << name << "\n"
        << trace.script();
    ++checked;
  };
  auto mixed =
      put_together({dossier_of(archives().first.path()), dossier_of(archives().full.path())},
                   named({"strict", "full"}, false));
  ASSERT_TRUE(mixed.ok());
  Dossier dossiers[] = {repeated(), std::move(mixed).value()};
  for (const Dossier& d : dossiers) {
    for (const char* id : {"boundary_before_after", "continuations", "performance"}) {
      for (const Table& t : d.tables) {
        if (t.id != id) continue;
        for (std::size_t r = 0; r < t.rows.size(); ++r) {
          ASSERT_EQ(t.rows[r].size(), t.columns.size()) << id;
          ASSERT_EQ(t.traces[r].size(), t.columns.size()) << id;
          for (std::size_t c = 0; c < t.columns.size(); ++c) {
            const std::string name = t.id + ", " + t.rows[r][0] + ", " + t.columns[c].name;
            if (t.columns[c].number && !numbers_in(t.rows[r][c]).empty()) {
              EXPECT_FALSE(t.traces[r][c].source.empty()) << name;
            }
            expect(name, t.rows[r][c], t.traces[r][c]);
          }
        }
      }
    }
    for (const TimingGroup& g : d.timings.groups) {
      char shown[96];
      std::snprintf(shown, sizeof shown, "%.1f %.1f %.1f", g.least, g.median, g.most);
      expect(g.condition, shown, g.trace);
    }
  }
  EXPECT_GE(checked, 100);
}

} // namespace
} // namespace hitproof::cli::testing
