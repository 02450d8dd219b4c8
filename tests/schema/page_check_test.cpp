// Our own check of a file's pages: never content where SQLite's quick_check is not, whatever the
// bytes are, and content with what recorders write.
#include "schema/page_check.h"
#include "schema/recording.h"
#include "tests/schema/temp_dir.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <sqlite3.h>

namespace hitproof::schema {
namespace {

class Database {
 public:
  explicit Database(const std::string& path) { sqlite3_open(path.c_str(), &db_); }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // All rows of the first columns, or what went wrong.
  std::vector<std::vector<std::string>> rows(const std::string& sql) {
    std::vector<std::vector<std::string>> out;
    sqlite3_stmt* s = nullptr;
    int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &s, nullptr);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
      code = sqlite3_step(s);
      if (code != SQLITE_ROW) break;
      std::vector<std::string> row;
      for (int c = 0; c < sqlite3_column_count(s); ++c) {
        const unsigned char* text = sqlite3_column_text(s, c);
        row.emplace_back(text == nullptr ? "" : reinterpret_cast<const char*>(text));
      }
      out.push_back(std::move(row));
    }
    sqlite3_finalize(s);
    if (code != SQLITE_DONE) out = {{sqlite3_errmsg(db_)}};
    return out;
  }
  std::string first(const std::string& sql) {
    const auto found = rows(sql);
    return found.empty() || found[0].empty() ? "" : found[0][0];
  }

 private:
  sqlite3* db_ = nullptr;
};

class PageCheck : public testing::Test {
 protected:
  // A recording with rows of several tables, deep trees, rows over several pages and free pages.
  void SetUp() override {
    std::mt19937_64 random(5);
    auto recording = Recording::open_new(dir_.path());
    ASSERT_TRUE(recording.ok());
    ASSERT_TRUE(recording->begin().ok());
    for (std::uint32_t i = 1; i <= 4000; ++i) {
      const Origin origin{i % 3, i % 5, i, random() >> (random() % 64)};
      ASSERT_TRUE(
          recording->insert(rec::wait{.transfer = random() >> (random() % 64)}, origin).ok());
      rec::page_digest digest;
      digest.transfer = i;
      digest.nonzero = random();
      ASSERT_TRUE(recording->insert(digest, origin).ok());
    }
    for (int i = 0; i < 60; ++i)
      ASSERT_TRUE(
          recording->put("fact" + std::to_string(i), std::string(i % 7 == 0 ? 40000 : 30, 'x'))
              .ok());
    ASSERT_TRUE(recording->commit().ok());
    ASSERT_TRUE(recording->execute("DELETE FROM wait WHERE seq % 4 = 0 OR seq < 900").ok());
    ASSERT_TRUE(recording->execute("DELETE FROM page_digest WHERE seq > 3000").ok());
    ASSERT_TRUE(recording->close("completed").ok());
    bytes_ = read_all(file());
    Database db(file());
    page_ = std::stoul(db.first("PRAGMA page_size"));
    ASSERT_TRUE(read_tables(tables_));
    ASSERT_GT(std::stoi(db.first("PRAGMA freelist_count")), 3);
  }
  std::string file() const { return dir_ / "data/recording.sqlite"; }
  // What the file says of its tables; false where that is nothing to build on.
  bool read_tables(std::vector<RootedTable>& tables) const {
    tables.clear();
    for (const auto& row :
         Database(file()).rows("SELECT rootpage, sql FROM sqlite_master WHERE type = 'table'")) {
      if (row.size() != 2) return false;
      const auto parsed = parse_tables(row[1] + ";");
      if (!parsed.ok() || parsed->size() != 1) return false;
      tables.push_back(
          {static_cast<std::uint32_t>(std::strtoul(row[0].c_str(), nullptr, 10)), parsed->front()});
    }
    return true;
  }
  std::uint32_t root_of(const std::string& name) const {
    for (const RootedTable& t : tables_)
      if (t.text.name == name) return t.root;
    return 0;
  }
  // By quick_check, and by ours with what is left to SQLite.
  bool objected() const { return Database(file()).first("PRAGMA quick_check(1)") != "ok"; }
  bool content() const {
    std::vector<RootedTable> tables;
    if (!read_tables(tables) || !surely_sound(file(), tables)) return false;
    Database db(file());
    for (const RootedTable& t : tables)
      if (t.text.without_rowid && db.first("PRAGMA quick_check('" + t.text.name + "')") != "ok")
        return false;
    return true;
  }
  void sql(const std::string& statements) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    EXPECT_EQ(sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::uint32_t number(const std::string& bytes, std::size_t at, int n) const {
    std::uint32_t value = 0;
    for (int i = 0; i < n; ++i)
      value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
    return value;
  }
  void put(std::string& bytes, std::size_t at, std::uint32_t value, int n) const {
    for (int i = n - 1; i >= 0; --i, value >>= 8)
      bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value & 0xff);
  }
  std::size_t begin_of(std::uint32_t page) const { return (page - 1) * page_; }

  TempDir dir_;
  std::string bytes_;
  std::size_t page_ = 0;
  std::vector<RootedTable> tables_;
};

TEST_F(PageCheck, ARecordersFileIsSound) {
  EXPECT_FALSE(objected());
  EXPECT_TRUE(content());
}

TEST_F(PageCheck, NoFileAndNoDatabaseAreNot) {
  EXPECT_FALSE(surely_sound(dir_ / "nothing", tables_));
  write_text(file(), "SQLite format 3");
  EXPECT_FALSE(surely_sound(file(), tables_));
  write_text(file(), std::string(2 * page_, '\0'));
  EXPECT_FALSE(surely_sound(file(), tables_));
}

TEST_F(PageCheck, OneByteAnywhere) {
  const char* const asked = std::getenv("HITPROOF_TEST_FLIPS");
  const int flips = asked == nullptr ? 800 : std::atoi(asked);
  std::mt19937_64 random(static_cast<unsigned>(flips));
  const std::size_t pages = bytes_.size() / page_;
  int objections = 0, doubts = 0;
  for (int i = 0; i < flips; ++i) {
    std::string bytes = bytes_;
    // Most of the file is values, in which any byte is as good as another.
    const std::size_t in_page = i % 3 == 0   ? random() % page_
                                : i % 3 == 1 ? random() % 12
                                             : random() % 400;
    const std::size_t at = std::min(begin_of(1 + random() % pages) + in_page, bytes.size() - 1);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 + random() % 255));
    write_text(file(), bytes);
    const bool bad = objected(), good = content();
    ASSERT_FALSE(bad && good) << "byte " << at << ": "
                              << Database(file()).first("PRAGMA quick_check(1)");
    objections += bad;
    doubts += !good;
  }
  EXPECT_GT(objections, flips / 10);
  EXPECT_LT(doubts, flips * 5 / 6);
}

TEST_F(PageCheck, APageOfTwoTables) {
  std::string bytes = bytes_;
  const std::size_t one = begin_of(root_of("wait")), other = begin_of(root_of("page_digest"));
  ASSERT_EQ(bytes[one], 5) << "an interior page";
  ASSERT_EQ(bytes[other], 5);
  const std::uint32_t cell = number(bytes, one + 12, 2), into = number(bytes, other + 12, 2);
  put(bytes, other + into, number(bytes, one + cell, 4), 4);
  write_text(file(), bytes);
  EXPECT_TRUE(objected());
  EXPECT_FALSE(content());
}

TEST_F(PageCheck, APageThatIsLostOrFreeAndInUse) {
  std::string bytes = bytes_;
  put(bytes, 36, number(bytes, 36, 4) - 1, 4); // pages in the list of free ones
  write_text(file(), bytes);
  EXPECT_TRUE(objected());
  EXPECT_FALSE(content());
  bytes = bytes_;
  const std::size_t trunk = begin_of(number(bytes, 32, 4));
  ASSERT_GT(number(bytes, trunk + 4, 4), 0u);
  put(bytes, trunk + 8, root_of("wait"), 4);
  write_text(file(), bytes);
  EXPECT_TRUE(objected());
  EXPECT_FALSE(content());
}

TEST_F(PageCheck, RowsOutOfOrder) {
  std::string bytes = bytes_;
  const std::size_t root = begin_of(root_of("wait"));
  const std::uint32_t first = number(bytes, root + 12, 2), second = number(bytes, root + 14, 2);
  const std::uint32_t left = number(bytes, root + first, 4),
                      right = number(bytes, root + second, 4);
  put(bytes, root + first, right, 4);
  put(bytes, root + second, left, 4);
  write_text(file(), bytes);
  EXPECT_TRUE(objected());
  EXPECT_FALSE(content());
}

TEST_F(PageCheck, NothingWhereSomethingMustBe) {
  // The rows are written under another declaration than the one that is read.
  sql("CREATE TABLE loose (a INTEGER, b TEXT); INSERT INTO loose VALUES (1, 'x'), (NULL, 'y')");
  const auto root = static_cast<std::uint32_t>(std::stoul(
      Database(file()).first("SELECT rootpage FROM sqlite_master WHERE name = 'loose'")));
  const auto declared = [&](const char* text) {
    auto tables = tables_;
    tables.push_back({root, parse_tables(text)->front()});
    return surely_sound(file(), tables);
  };
  EXPECT_TRUE(declared("CREATE TABLE loose (a INTEGER, b TEXT);"));
  EXPECT_FALSE(declared("CREATE TABLE loose (a INTEGER NOT NULL, b TEXT);"));
  EXPECT_FALSE(declared("CREATE TABLE loose (a TEXT, b TEXT);"));
  EXPECT_FALSE(declared("CREATE TABLE loose (a INTEGER, b INTEGER);"));
  EXPECT_FALSE(declared("CREATE TABLE loose (a INTEGER, b TEXT, c INTEGER);"));
  EXPECT_FALSE(declared("CREATE TABLE loose (a INTEGER);"));
  EXPECT_FALSE(surely_sound(file(), tables_)) << "its page belongs to nothing that is named";
}

} // namespace
} // namespace hitproof::schema
