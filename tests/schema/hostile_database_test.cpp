// Databases that somebody made to mislead or endanger their reader, one by one.
#include "child.h"
#include "schema/recording.h"
#include "temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <sqlite3.h>
#include <sys/resource.h>

namespace hitproof::schema {
namespace {

using testing::HasSubstr;

class HostileDatabase : public testing::Test {
 protected:
  void SetUp() override {
    Result<Recording> recording = Recording::open_new(dir_.path());
    ASSERT_TRUE(recording.ok());
    for (std::uint32_t i = 1; i <= 3000; ++i)
      ASSERT_TRUE(recording->insert(rec::wait{.transfer = i}, {1, 1, i, i}).ok());
    ASSERT_TRUE(recording->close("completed").ok());
    ASSERT_TRUE(open().ok()) << "the untouched recording";
  }
  std::string file() const { return dir_ / "data/recording.sqlite"; }
  Status open(Access access = Access::read_only) const {
    return Recording::open_existing(dir_.path(), access).status();
  }
  // As an attacker does it: with SQLite, and none of our guards.
  void make(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(db);
  }
  void expect_refused(const std::string& sql, const std::string& why) {
    const std::string before = read_all(file());
    make(sql);
    for (const Access access : {Access::read_only, Access::read_write}) {
      const Status status = open(access);
      EXPECT_EQ(status.code(), Code::corruption) << sql;
      EXPECT_THAT(status.message(), HasSubstr(why)) << sql;
    }
    write_text(file(), before);
    ASSERT_TRUE(open().ok());
  }
  void expect_damaged(const std::string& bytes, const std::string& why) {
    const std::string before = read_all(file());
    write_text(file(), bytes);
    const Status status = open();
    EXPECT_EQ(status.code(), Code::corruption) << status.to_string();
    EXPECT_THAT(status.message(), HasSubstr(why));
    write_text(file(), before);
  }
  TempDir dir_;
};

TEST_F(HostileDatabase, WhatRunsOrHidesSomethingIsRefused) {
  expect_refused("CREATE TRIGGER t AFTER INSERT ON wait BEGIN DELETE FROM wait; END",
                 "its trigger \"t\" does not belong");
  expect_refused("CREATE VIEW extra AS SELECT 1", "its view \"extra\" does not belong");
  expect_refused("ALTER TABLE wait RENAME TO hidden; CREATE VIEW wait AS SELECT * FROM hidden "
                 "WHERE transfer > 5",
                 "its view \"wait\" does not belong");
  expect_refused("CREATE INDEX i ON wait (transfer)", "its index \"i\" does not belong");
  expect_refused("CREATE INDEX e ON wait (abs(transfer))", "its index \"e\" does not belong");
  expect_refused("CREATE TABLE other (a UNIQUE)", "is no plain table");
  expect_refused("CREATE VIRTUAL TABLE v USING fts5(a)", "is no plain table");
  expect_refused("CREATE VIRTUAL TABLE v USING rtree(id, a, b)", "is no plain table");
  expect_refused("PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES ('table', 'd', "
                 "'d', 0, 'CREATE VIRTUAL TABLE d USING sqlite_dbpage')",
                 "is no plain table");
  expect_refused("CREATE TABLE notes (a); ANALYZE", "sqlite_stat1");
}

TEST_F(HostileDatabase, ColumnsThatAreMoreThanColumnsAreRefused) {
  expect_refused("ALTER TABLE wait ADD COLUMN g AS (transfer + 1)", "'AS'");
  expect_refused("ALTER TABLE wait ADD COLUMN g INTEGER GENERATED ALWAYS AS (1) VIRTUAL",
                 "'GENERATED'");
  expect_refused("DROP TABLE reuse; CREATE TABLE reuse (transfer INTEGER CHECK (transfer > 0))",
                 "'CHECK'");
  expect_refused("DROP TABLE process_exit; CREATE TABLE process_exit (pid INTEGER PRIMARY KEY, "
                 "role TEXT COLLATE NOCASE)",
                 "'COLLATE'");
  expect_refused("DROP TABLE reuse; CREATE TABLE reuse (transfer TEXT)",
                 "transfer is TEXT instead of INTEGER");
  expect_refused("DROP TABLE reuse; CREATE TABLE reuse (transfer INTEGER PRIMARY KEY)",
                 "its key is another one at transfer");
  expect_refused("CREATE TABLE t (a DEFAULT (random()))", "'('");
}

TEST_F(HostileDatabase, PlainAdditionsOfLaterVersionsAreRead) {
  make("CREATE TABLE later (a INTEGER NOT NULL, \"b c\" TEXT DEFAULT 'x', PRIMARY KEY (a)) WITHOUT "
       "ROWID; ALTER TABLE wait ADD COLUMN later; ALTER TABLE reuse ADD COLUMN n INTEGER NOT NULL "
       "DEFAULT -1");
  EXPECT_TRUE(open().ok()) << open().to_string();
  EXPECT_TRUE(open(Access::read_write).ok());
}

TEST_F(HostileDatabase, FilesThatAreNoWholeDatabaseAreRefused) {
  const std::string good = read_all(file());
  ASSERT_GT(good.size(), 3u * 16384);
  expect_damaged(std::string(50000, 'x'), "not an SQLite database");
  expect_damaged(good.substr(0, 60), "not an SQLite database");
  expect_damaged(good.substr(0, good.size() - 1), "its header counts");
  expect_damaged(good.substr(0, good.size() - 16384), "its header counts");
  expect_damaged(good + std::string(16384, '\0'), "its header counts");
  std::string bytes = good;
  bytes[31] = static_cast<char>(bytes[31] + 1);
  expect_damaged(bytes, "its header counts");
  bytes = good;
  bytes[16] = 0, bytes[17] = 3;
  expect_damaged(bytes, "no possible page size");
  bytes = good;
  bytes[59] = 2;
  expect_damaged(bytes, "not UTF-8");
}

// Two tables over one tree: what is counted in the one would stand in the other as well.
TEST_F(HostileDatabase, TablesThatShareTheirPagesAreRefused) {
  make("PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM "
       "sqlite_master WHERE name = 'wait') WHERE name = 'reuse'");
  EXPECT_EQ(open().code(), Code::corruption) << open().to_string();
}

TEST_F(HostileDatabase, AHugeValueIsRefusedWhereItIsReadAndTakesNoMemory) {
  make("INSERT INTO meta VALUES (1, 1, 1, 1, 'big', zeroblob(400000000))");
  const pid_t child = start_child([&] {
    const rlimit memory{256u << 20, 256u << 20};
    setrlimit(RLIMIT_DATA, &memory);
    Result<Recording> recording = Recording::open_existing(dir_.path());
    if (!recording.ok()) return 1;
    return recording->read<rec::meta>().status().code() == Code::corruption ? 0 : 2;
  });
  EXPECT_EQ(exit_code(child), 0);
}

TEST_F(HostileDatabase, OnlyCheckedRecordingsAreAttached) {
  TempDir other;
  {
    Result<Recording> made = Recording::open_new(other.path());
    ASSERT_TRUE(made.ok() && made->close("completed").ok());
  }
  const std::string good = other / "data/recording.sqlite", bad = dir_ / "bad.sqlite";
  std::ofstream(bad) << "SQLite format 3, it says";
  Result<Recording> recording = Recording::open_existing(dir_.path());
  ASSERT_TRUE(recording.ok());
  EXPECT_FALSE(recording->attach(bad, "bad").ok());
  EXPECT_FALSE(recording->execute("ATTACH '" + bad + "' AS bad").ok()) << "still not";
  EXPECT_TRUE(recording->attach(good, "other").ok());
  EXPECT_TRUE(recording->execute("SELECT COUNT(*) FROM other.wait").ok());
  EXPECT_FALSE(recording->execute("DELETE FROM other.wait").ok());
}

TEST_F(HostileDatabase, AReaderCanOnlyRead) {
  std::ofstream(dir_ / "other.sqlite").close();
  Result<Recording> recording = Recording::open_existing(dir_.path());
  ASSERT_TRUE(recording.ok());
  for (const std::string& sql :
       {std::string("DELETE FROM wait"), std::string("CREATE TABLE t (a)"),
        std::string("PRAGMA writable_schema = ON"), std::string("PRAGMA journal_mode = WAL"),
        std::string("SELECT load_extension('/tmp/x')"), std::string("SELECT * FROM dbstat"),
        "ATTACH '" + (dir_ / "other.sqlite") + "' AS other", std::string("ATTACH ':memory:' AS m"),
        std::string("CREATE TEMP TRIGGER t INSERT ON wait BEGIN SELECT 1; END")})
    EXPECT_FALSE(recording->execute(sql).ok()) << sql;
  for (const char* sql :
       {"CREATE TEMP VIEW wait AS SELECT * FROM main.wait WHERE transfer > 5",
        "CREATE TEMP TABLE t AS SELECT * FROM wait", "CREATE INDEX temp.i ON t (transfer)",
        "DROP TABLE t", "WITH w AS (SELECT transfer FROM wait) SELECT COUNT(*) FROM w",
        "SELECT transfer FROM wait", "DROP VIEW temp.wait", "PRAGMA mmap_size = 1048576"})
    EXPECT_TRUE(recording->execute(sql).ok()) << recording->execute(sql).to_string();
  EXPECT_FALSE(std::filesystem::exists(file() + "-journal"));
}

// Any byte may be another one: the answer is a status or rows, never a crash or no end.
TEST_F(HostileDatabase, ChangedBytesEndInAStatus) {
  const std::string good = read_all(file());
  std::mt19937_64 random(7);
  std::size_t refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string bytes = good;
    // Half of them where the trees' own bytes are: the first page, and the head of each page.
    const std::size_t page = random() % (good.size() / 16384) * 16384;
    const std::size_t at = i % 2 == 0 ? random() % good.size() : page + random() % 128;
    for (std::size_t n = 0; n < 4 && at + n < bytes.size(); ++n)
      bytes[at + n] = static_cast<char>(random());
    write_text(file(), bytes);
    Result<Recording> recording = Recording::open_existing(dir_.path());
    if (recording.ok()) {
      const auto rows = recording->read<rec::wait>();
      if (!rows.ok()) ++refused;
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, 20u);
}

} // namespace
} // namespace hitproof::schema
