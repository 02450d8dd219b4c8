// Recordings whose recorder was killed: with nothing in the database yet, with rows, with records
// that are in journals only.
#include "child.h"
#include "schema/drain.h"
#include "schema/journal.h"
#include "temp_dir.h"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace hitproof::schema {
namespace {

using testing::HasSubstr;

class RecoveryTest : public testing::Test {
 protected:
  void SetUp() override { JournalWriter::use_directory(dir_.path().c_str()); }
  void TearDown() override {
    JournalWriter::use_directory(nullptr);
    JournalWriter::for_this_thread();
  }
  void write_numbers(std::uint64_t from, std::uint64_t to) {
    std::thread([=] {
      for (std::uint64_t i = from; i < to; ++i)
        journal(rec::wait{.transfer = i});
    }).join();
  }
  std::string database() const { return dir_ / "data/recording.sqlite"; }
  TempDir dir_;
};

TEST_F(RecoveryTest, ADatabaseWithoutTablesIsIncompleteAndKeepsItsJournals) {
  write_numbers(0, 10);
  write_text(database(), "");
  for (const Access access : {Access::read_only, Access::read_write}) {
    const Result<Recording> opened = Recording::open_existing(dir_.path(), access);
    EXPECT_EQ(opened.code(), Code::incomplete);
    EXPECT_THAT(opened.status().message(), HasSubstr("it holds nothing"));
  }
  EXPECT_EQ(open_recovered(dir_.path()).code(), Code::incomplete);
  EXPECT_TRUE(has_leftovers(dir_.path()));
}

TEST_F(RecoveryTest, AWriterKilledBeforeItsTablesAreCommittedLeavesAnIncompleteRecording) {
  { ASSERT_TRUE(Recording::open_new(dir_.path()).ok()); }
  // As a reader finds it when the tables are not committed yet: a log, and no table.
  const pid_t child = start_child([&] {
    Result<Recording> recording = Recording::open_existing(dir_.path(), Access::read_write);
    if (!recording.ok()) return 1;
    std::string drop;
    {
      Result<Query> names = recording->query("SELECT name FROM sqlite_master WHERE type='table'");
      while (names.ok() && names->next())
        drop += "DROP TABLE \"" + std::string(names->text(0)) + "\";";
    }
    if (!recording->execute(drop).ok()) return 1;
    raise(SIGKILL);
    return 1;
  });
  ASSERT_TRUE(WIFSIGNALED(wait_status(child)));
  ASSERT_TRUE(std::filesystem::exists(database() + "-wal"));
  EXPECT_EQ(open_recovered(dir_.path()).code(), Code::incomplete);
}

TEST_F(RecoveryTest, TablesWithoutTheRecordingsOwnAreDamageAndNotABeginning) {
  {
    Result<Recording> recording = Recording::open_new(dir_.path());
    ASSERT_TRUE(recording.ok());
    ASSERT_TRUE(recording->execute("DROP TABLE recording").ok());
  }
  EXPECT_EQ(Recording::open_existing(dir_.path()).code(), Code::corruption);
  EXPECT_EQ(open_recovered(dir_.path()).code(), Code::corruption);
}

TEST_F(RecoveryTest, WhatAKilledRecorderHadNotDrainedIsFound) {
  constexpr std::uint64_t committed = 1000, left = 500;
  const pid_t recorder = start_child([&] {
    Result<Recording> recording = Recording::open_new(dir_.path());
    if (!recording.ok()) return 1;
    Drain drain(dir_.path(), *recording, 2);
    write_numbers(0, committed);
    if (drain.poll() != committed) return 1;
    write_numbers(committed, committed + left);
    raise(SIGKILL);
    return 1;
  });
  ASSERT_TRUE(WIFSIGNALED(wait_status(recorder)));
  ASSERT_TRUE(has_leftovers(dir_.path()));
  // The second time there is nothing left to move, and nothing may be moved twice.
  for (int time = 0; time < 2; ++time) {
    Result<Recording> recording = open_recovered(dir_.path());
    ASSERT_TRUE(recording.ok()) << recording.status().to_string();
    EXPECT_FALSE(recording->closed());
    EXPECT_EQ(recording->closed_reason(), "recovered");
    EXPECT_EQ(recording->count("wait").value(), static_cast<std::int64_t>(committed + left));
    EXPECT_EQ(recording->count("wait", "transfer >= 1000").value(),
              static_cast<std::int64_t>(left));
    EXPECT_EQ(recording->get_int("records", -1), static_cast<std::int64_t>(committed + left));
    EXPECT_EQ(recording->get_int("gaps", -1), 0);
    EXPECT_FALSE(has_leftovers(dir_.path()));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "journal"));
  }
}

TEST_F(RecoveryTest, AnUnclosedRecordingWithoutJournalsStaysUnclosed) {
  { ASSERT_TRUE(Recording::open_new(dir_.path()).ok()); }
  EXPECT_FALSE(has_leftovers(dir_.path()));
  Result<Recording> recording = open_recovered(dir_.path());
  ASSERT_TRUE(recording.ok()) << recording.status().to_string();
  EXPECT_FALSE(recording->closed());
  EXPECT_EQ(recording->closed_reason(), "recovered");
  EXPECT_EQ(recording->get_int("records", -1), 0);
}

} // namespace
} // namespace hitproof::schema
