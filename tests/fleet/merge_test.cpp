// hitproof merge as a user runs it: what is in the merged file is what was in the archives, wholly
// or not at all.
#include "schema/archive.h"
#include "tests/audit/fixture.h"
#include "tests/e2e/run.h"

#include <chrono>
#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace hitproof {
namespace {

namespace fs = std::filesystem;
using audit::testing::change;
using audit::testing::copy_good_study;
using e2e::Outcome;
using testing::ElementsAre;
using testing::HasSubstr;

// Every row of `sql` as its values with "|" between them; BLOBs by their length and first byte.
std::vector<std::string> rows_of(const std::string& file, const std::string& sql) {
  sqlite3* db = nullptr;
  std::vector<std::string> rows;
  EXPECT_EQ(sqlite3_open_v2(file.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK) << file;
  const auto add = [](void* into, int columns, char** values, char**) {
    std::string row;
    for (int i = 0; i < columns; ++i)
      row += std::string(i > 0 ? "|" : "") + (values[i] ? values[i] : "NULL");
    static_cast<std::vector<std::string>*>(into)->push_back(row);
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), add, &rows, nullptr), SQLITE_OK)
      << sql << ": " << sqlite3_errmsg(db);
  sqlite3_close(db);
  return rows;
}

std::int64_t number_of(const std::string& file, const std::string& sql) {
  const auto rows = rows_of(file, sql);
  return rows.size() == 1 && rows[0] != "NULL" ? std::stoll(rows[0]) : -1;
}

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class Merge : public testing::Test {
 protected:
  // A closed archive of the good study, changed by SQL before the close.
  std::string archive(const std::string& name, const std::string& sql = "") {
    const std::string dir = dir_.path(name);
    fs::create_directories(dir);
    copy_good_study(dir);
    change(dir, "UPDATE recording SET value = '" + name + "' WHERE key = 'preset';" + sql);
    close(dir);
    return dir;
  }
  static void close(const std::string& dir) {
    const auto closed = schema::close_archive(dir);
    ASSERT_TRUE(closed.ok()) << closed.status().to_string();
  }
  Outcome merge(std::vector<std::string> words) const {
    std::vector<std::string> command = {e2e::program("hitproof"), "merge", "--out", out_};
    command.insert(command.end(), words.begin(), words.end());
    return e2e::run(command);
  }
  std::vector<std::string> presets() const {
    return rows_of(out_, "SELECT preset FROM fleet_archive ORDER BY preset");
  }
  // Rows of every table, and of every archive that is said to be there, are all there.
  void expect_whole_archives() const {
    EXPECT_EQ(rows_of(out_, "PRAGMA integrity_check"), std::vector<std::string>{"ok"});
    for (const std::string& table :
         rows_of(out_, "SELECT DISTINCT CASE WHEN control THEN 'reference_' ELSE '' END || name "
                       "FROM fleet_table")) {
      EXPECT_EQ(rows_of(out_, "SELECT archive, COUNT(*) FROM \"" + table +
                                  "\" GROUP BY archive ORDER BY archive"),
                rows_of(out_, "SELECT archive, rows FROM fleet_table WHERE rows > 0 AND '" + table +
                                  "' = CASE WHEN control THEN 'reference_' ELSE '' END || name "
                                  "ORDER BY archive"))
          << table;
    }
    EXPECT_EQ(number_of(out_, "SELECT COUNT(DISTINCT archive) FROM process"),
              number_of(out_, "SELECT COUNT(*) FROM fleet_archive"));
  }

  e2e::TempDir dir_{"merge"};
  std::string out_ = dir_.path("fleet.sqlite");
};

TEST_F(Merge, EveryRowIsThereWithItsArchivesId) {
  const std::string one = archive("one"), two = archive("two", "DELETE FROM wait;");
  const Outcome merged = merge({one, two});
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_THAT(merged.out, HasSubstr("MERGED: 2 archives added"));
  EXPECT_THAT(presets(), ElementsAre("one", "two"));
  expect_whole_archives();
  EXPECT_FALSE(fs::exists(out_ + "-wal"));
  for (const std::string table : {"copy", "page_digest", "study_token", "recording"}) {
    // Values and their types, digests among them, as they were.
    const std::string both = "ATTACH '" + one + "/data/recording.sqlite' AS a; ";
    const std::string columns =
        rows_of(one + "/data/recording.sqlite", "SELECT group_concat('\"' || name || '\"') FROM "
                                                "pragma_table_info('" +
                                                    table + "')")[0];
    const std::string mine = "SELECT " + columns + " FROM main." + table +
                             " WHERE archive = (SELECT archive FROM fleet_archive WHERE preset = "
                             "'one')";
    const std::string theirs = "SELECT " + columns + " FROM a." + table;
    EXPECT_EQ(rows_of(out_, both + "SELECT COUNT(*) FROM (" + mine + " EXCEPT " + theirs + ")"),
              std::vector<std::string>{"0"});
    EXPECT_EQ(rows_of(out_, both + "SELECT COUNT(*) FROM (" + theirs + " EXCEPT " + mine + ")"),
              std::vector<std::string>{"0"});
  }
  EXPECT_GT(number_of(out_, "SELECT COUNT(*) FROM reference_study_token"), 0);
}

TEST_F(Merge, TheSameArchiveTwiceIsSkippedAndSaid) {
  const std::string one = archive("one"), copy = dir_.path("copy");
  fs::copy(one, copy, fs::copy_options::recursive);
  const Outcome once = merge({one, copy});
  EXPECT_EQ(once.exit_code, 0) << once.err;
  EXPECT_THAT(once.err, HasSubstr(copy + " is there already"));
  const std::int64_t rows = number_of(out_, "SELECT COUNT(*) FROM copy");
  const Outcome again = merge({one, "--json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("\"already_there\": 1"));
  EXPECT_EQ(number_of(out_, "SELECT COUNT(*) FROM copy"), rows);
  EXPECT_THAT(presets(), ElementsAre("one"));
}

TEST_F(Merge, ADamagedArchiveIsNamedAndLeftOut) {
  const std::string one = archive("one"), bad = archive("bad"), two = archive("two");
  std::ofstream(bad + "/data/plan.toml", std::ios::app) << "# later\n";
  const Outcome merged = merge({one, bad, two});
  EXPECT_EQ(merged.exit_code, 4);
  EXPECT_THAT(merged.err, HasSubstr(bad + ": the archive is damaged: "));
  EXPECT_THAT(merged.err, HasSubstr("data/plan.toml: SHA-256 is"));
  EXPECT_THAT(merged.out, HasSubstr("INCOMPLETE: 2 archives added"));
  EXPECT_THAT(presets(), ElementsAre("one", "two"));
  expect_whole_archives();
}

TEST_F(Merge, StrictStopsAtTheFirst) {
  const std::string one = archive("one"), bad = archive("bad"), two = archive("two");
  std::ofstream(bad + "/data/plan.toml", std::ios::app) << "# later\n";
  EXPECT_EQ(merge({"--strict", one, bad, two}).exit_code, 4);
  EXPECT_THAT(presets(), ElementsAre("one"));
}

TEST_F(Merge, OlderArchivesLackColumnsAndNewerOnesAreRefused) {
  const std::string old =
      archive("old", "ALTER TABLE process DROP COLUMN parent; DROP TABLE reuse; "
                     "DELETE FROM pooled_key;");
  const std::string now = archive("now");
  const std::string newer =
      archive("newer", "UPDATE recording SET value = '99' WHERE key = 'format_version';");
  const Outcome merged = merge({old, newer, now});
  EXPECT_EQ(merged.exit_code, 2);
  EXPECT_THAT(merged.err, HasSubstr("recording format 99 is newer"));
  EXPECT_THAT(presets(), ElementsAre("now", "old"));
  EXPECT_GT(number_of(out_, "SELECT COUNT(*) FROM process WHERE parent IS NULL"), 0);
  EXPECT_EQ(
      number_of(out_, "SELECT COUNT(*) FROM fleet_table WHERE name = 'reuse' AND control = 0"), 1);
  expect_whole_archives();
}

TEST_F(Merge, ATableNobodyKnowsIsTakenAndAHostileNameIsNot) {
  const std::string more = archive("more", "CREATE TABLE later (x INTEGER, y TEXT); INSERT INTO "
                                           "later VALUES (-1, 'a');");
  const std::string path = archive("path", "CREATE TABLE \"../../x\" (x INTEGER);");
  const std::string quote = archive("quote", "CREATE TABLE q (\"a\"\") TO 'y\" INTEGER);");
  const std::string ours = archive("ours", "CREATE TABLE fleet_archive (x INTEGER);");
  const Outcome merged = merge({more, path, quote, ours});
  EXPECT_EQ(merged.exit_code, 4);
  EXPECT_THAT(presets(), ElementsAre("more"));
  EXPECT_THAT(rows_of(out_, "SELECT x, y FROM later"), ElementsAre("-1|a"));
}

TEST_F(Merge, AnotherFileIsLeftAsItIs) {
  const std::string one = archive("one");
  std::ofstream(out_) << "my notes, not a database at all, but long enough to be looked at twice\n";
  const std::string notes = bytes_of(out_);
  EXPECT_EQ(merge({one}).exit_code, 2);
  EXPECT_EQ(bytes_of(out_), notes);
  fs::remove(out_);
  rows_of(one + "/data/recording.sqlite", "VACUUM INTO '" + out_ + "'");
  const std::string database = bytes_of(out_);
  const Outcome merged = merge({one});
  EXPECT_EQ(merged.exit_code, 2);
  EXPECT_THAT(merged.err, HasSubstr("no merged file"));
  EXPECT_EQ(bytes_of(out_), database);
}

TEST_F(Merge, AListMayComeFromAFileOrFromStdin) {
  const std::string one = archive("one"), two = archive("two"), list = dir_.path("list");
  std::ofstream(list) << one << "\n\n" << dir_.path("nowhere") << "\n";
  EXPECT_EQ(merge({"--from", list}).exit_code, 2);
  EXPECT_THAT(presets(), ElementsAre("one"));
  const Outcome piped = e2e::run({"sh", "-c",
                                  "echo '" + two + "' | '" + e2e::program("hitproof") +
                                      "' merge --from - --out '" + out_ + "'"});
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_THAT(presets(), ElementsAre("one", "two"));
  EXPECT_EQ(merge({}).exit_code, 2);
}

TEST_F(Merge, VerdictsAreThoseOfTheAudit) {
  const std::string good = archive("good"),
                    bad = archive("bad", "DELETE FROM copy WHERE entry = 3 AND transfer = (SELECT "
                                         "MIN(transfer) FROM transfer WHERE direction = 1);");
  EXPECT_EQ(merge({"--audit", good, bad}).exit_code, 0);
  for (const std::string& dir : {good, bad}) {
    const auto audit = e2e::audit_json(dir);
    const std::string where =
        " WHERE archive = (SELECT archive FROM fleet_archive WHERE path = '" + dir + "')";
    EXPECT_THAT(rows_of(out_, "SELECT verdict FROM fleet_archive" + where),
                ElementsAre(audit["verdict"].get<std::string>()));
    const auto rules = rows_of(out_, "SELECT rule, verdict FROM fleet_verdict" + where);
    EXPECT_GE(rules.size(), 10U);
    for (const std::string& row : rules) {
      const std::string rule = row.substr(0, row.find('|'));
      EXPECT_EQ(row, rule + "|" + audit[rule]["verdict"].get<std::string>());
    }
  }
  EXPECT_THAT(rows_of(out_, "SELECT effect FROM fleet_finding WHERE violation = 'page_not_copied'"),
              ElementsAre("fail"));
}

// The graph is walked once, in the audit: its answer is the fleet's, and without one there is none.
TEST_F(Merge, PathsAreThoseOfTheAudit) {
  const std::string none = archive("none", "DELETE FROM order_op WHERE op BETWEEN 2 AND 8;");
  const std::string walked = "SELECT paths_walked FROM fleet_archive";
  const std::string transfers = "SELECT transfer FROM fleet_path ORDER BY transfer";
  EXPECT_EQ(merge({none}).exit_code, 0);
  EXPECT_THAT(rows_of(out_, walked), ElementsAre("0"));
  EXPECT_EQ(number_of(out_, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'fleet_path'"), 0);
  fs::remove(out_);
  EXPECT_EQ(merge({"--audit", none}).exit_code, 0);
  EXPECT_THAT(rows_of(out_, walked), ElementsAre("1"));
  EXPECT_EQ(rows_of(out_, transfers),
            rows_of(none + "/data/recording.sqlite",
                    "SELECT DISTINCT t.transfer FROM transfer t JOIN copy c ON c.transfer = "
                    "t.transfer AND c.result = 0 ORDER BY t.transfer"))
      << "no event, no synchronisation: no path";
}

// Killed at many moments: the file opens, holds whole archives alone, and the same command ends
// what was begun.
TEST_F(Merge, AKilledMergeLeavesWholeArchivesAndGoesOn) {
  std::vector<std::string> dirs;
  for (int i = 0; i < 12; ++i)
    dirs.push_back(archive("a" + std::to_string(i)));
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(merge(dirs).exit_code, 0);
  const auto took = std::chrono::steady_clock::now() - begin;
  fs::remove(out_);

  std::vector<std::string> command = {e2e::program("hitproof"), "merge", "--quiet", "--out", out_};
  command.insert(command.end(), dirs.begin(), dirs.end());
  std::vector<char*> words;
  for (std::string& word : command)
    words.push_back(word.data());
  words.push_back(nullptr);
  int cut_off = 0;
  constexpr int kills = 10;
  for (int i = 0; i < kills; ++i) {
    if (i % 5 == 0) fs::remove(out_), fs::remove(out_ + "-wal");
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(1);
      ::execv(words[0], words.data());
      ::_exit(127);
    }
    std::this_thread::sleep_for(took * (i + 1) / (2 * kills));
    ::kill(pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    cut_off += WIFSIGNALED(status);
    if (fs::exists(out_) && number_of(out_, "SELECT COUNT(*) FROM sqlite_master WHERE name = "
                                            "'fleet_archive'") == 1)
      expect_whole_archives();
  }
  EXPECT_GT(cut_off, 0) << "no merge was killed before its end";
  EXPECT_EQ(merge(dirs).exit_code, 0);
  EXPECT_EQ(presets().size(), dirs.size());
  expect_whole_archives();
}

} // namespace
} // namespace hitproof
