#include "child.h"
#include "schema/drain.h"
#include "schema/journal.h"
#include "schema/journal_reader.h"
#include "temp_dir.h"

#include <algorithm>
#include <barrier>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>

namespace hitproof::schema {
namespace {

// The numbers 0 .. n-1 in order, as one thread wrote them, without one missing or doubled.
void expect_sequence(Recording& recording, std::uint32_t thread, std::uint64_t n) {
  Result<Query> query = recording.query(
      "SELECT COUNT(*), COUNT(DISTINCT transfer), MIN(transfer), MAX(transfer), MAX(seq) FROM wait "
      "WHERE thread = ?");
  query->bind(1, thread);
  ASSERT_TRUE(query->next());
  EXPECT_EQ(query->integer(0), static_cast<std::int64_t>(n));
  EXPECT_EQ(query->integer(1), static_cast<std::int64_t>(n));
  if (n == 0) return;
  EXPECT_EQ(query->integer(2), 0);
  EXPECT_EQ(query->integer(3), static_cast<std::int64_t>(n) - 1);
  EXPECT_EQ(query->integer(4), static_cast<std::int64_t>(n));
}

void write_numbers(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i)
    journal(rec::wait{.transfer = i});
}

class DrainTest : public testing::Test {
 protected:
  void SetUp() override { JournalWriter::use_directory(dir_.path().c_str()); }
  void TearDown() override {
    JournalWriter::use_directory(nullptr);
    JournalWriter::for_this_thread();
  }
  Recording make() {
    Result<Recording> recording = Recording::open_new(dir_.path());
    EXPECT_TRUE(recording.ok()) << recording.status().to_string();
    return std::move(recording).value();
  }
  std::size_t segments() const { return list_segments(dir_.path())->size(); }
  TempDir dir_;
};

TEST_F(DrainTest, DrainsWhileWritersWrite) {
  Recording recording = make();
  Drain drain(dir_.path(), recording, 4);
  ASSERT_TRUE(drain.status().ok()) << drain.status().to_string();
  constexpr std::uint64_t each = 30'000;
  // In a process of their own: a journal is done when its process is.
  int at_work[2];
  ASSERT_EQ(pipe(at_work), 0);
  const pid_t child = start_child([&] {
    std::vector<std::thread> writers;
    std::barrier half(5);
    for (int t = 0; t < 4; ++t)
      writers.emplace_back([&] {
        for (std::uint64_t i = 0; i < each; ++i) {
          journal(rec::wait{.transfer = i});
          if (i == each / 2) half.arrive_and_wait();
        }
      });
    // The second half comes when the drain has proved to be at work.
    char byte;
    const bool told = read(at_work[0], &byte, 1) == 1;
    half.arrive_and_wait();
    for (auto& thread : writers)
      thread.join();
    return told ? 0 : 1;
  });
  std::uint64_t moved = 0;
  while (moved == 0)
    moved += drain.poll();
  ASSERT_EQ(write(at_work[1], "x", 1), 1);
  while (moved < 2 * each)
    moved += drain.poll();
  EXPECT_EQ(exit_code(child), 0);
  close(at_work[0]);
  close(at_work[1]);
  const Status status = drain.finish();
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(drain.records(), 4 * each);
  EXPECT_EQ(drain.gaps(), 0u);
  EXPECT_EQ(drain.dropped(), 0u);
  EXPECT_EQ(drain.live_writers(), 0u);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "journal"));
  Result<Query> threads = recording.query("SELECT DISTINCT thread FROM wait");
  int count = 0;
  for (; threads->next(); ++count)
    expect_sequence(recording, static_cast<std::uint32_t>(threads->integer(0)), each);
  EXPECT_EQ(count, 4);
  ASSERT_TRUE(recording.close("completed").ok());
  EXPECT_EQ(recording.get_int("records", -1), static_cast<std::int64_t>(4 * each));
  EXPECT_EQ(recording.get_int("gaps", -1), 0);
  EXPECT_EQ(recording.get_int("dropped", -1), 0);
}

TEST_F(DrainTest, SegmentsGoInTheOrderOfTheirNumbers) {
  Recording recording = make();
  // More than ten, so that sorting by file name would be wrong.
  constexpr std::uint64_t n = 11 * journal_segment_slots + 7;
  std::thread([] { write_numbers(n); }).join();
  Drain drain(dir_.path(), recording, 0);
  ASSERT_TRUE(drain.finish().ok());
  EXPECT_EQ(drain.records(), n);
  EXPECT_EQ(drain.gaps(), 0u);
}

// A program that replaces another by exec begins its journals anew, in the same process and thread;
// to begin anew in the same folder does the same.
TEST_F(DrainTest, LivesOfOneProcessHaveThreadNumbersOfTheirOwn) {
  Recording recording = make();
  const auto life = [&](std::uint64_t n) {
    JournalWriter::use_directory(dir_.path().c_str());
    write_numbers(n);
  };
  const auto self = static_cast<std::uint32_t>(getpid());
  {
    Drain drain(dir_.path(), recording, 0);
    life(3);
    drain.poll();
    life(5);
    life(journal_segment_slots + 2);
    EXPECT_EQ(drain.poll(), 5u + journal_segment_slots + 2);
  }
  // A recorder that goes on where another one was killed gives out the same numbers.
  Drain drain(dir_.path(), recording, 0);
  for (int i = 0; i < 4; ++i)
    journal(rec::wait{.transfer = journal_segment_slots + 2u + static_cast<unsigned>(i)});
  life(7);
  ASSERT_TRUE(drain.finish().ok());
  EXPECT_EQ(drain.records(), 3u + 5 + journal_segment_slots + 6 + 7);
  EXPECT_EQ(drain.gaps(), 0u);
  expect_sequence(recording, self, 3);
  expect_sequence(recording, self + thread_number_step, 5);
  expect_sequence(recording, self + 2 * thread_number_step, journal_segment_slots + 6);
  expect_sequence(recording, self + 3 * thread_number_step, 7);
}

// A thread whose id the kernel gave out twice in one life, and another life with the same id.
TEST_F(DrainTest, ThreadNumbersAreGivenOutInTheOrderInWhichThreadsBegan) {
  Recording recording = make();
  const auto begin = [&](std::uint64_t n) {
    JournalWriter::use_directory(dir_.path().c_str());
    write_numbers(n);
    return list_segments(dir_.path())->back();
  };
  const auto self = static_cast<std::uint32_t>(getpid());
  begin(3);
  const std::string reused = begin(5);
  std::FILE* file = std::fopen(reused.c_str(), "r+");
  ASSERT_NE(file, nullptr);
  const std::uint32_t number = self + thread_number_step;
  std::fseek(file, offsetof(SegmentHeader, tid), SEEK_SET);
  std::fwrite(&number, sizeof number, 1, file);
  std::fclose(file);
  begin(7);
  {
    Drain drain(dir_.path(), recording, 0);
    EXPECT_EQ(drain.poll(), 3u + 5 + 7);
  }
  journal(rec::wait{.transfer = 7});
  Drain drain(dir_.path(), recording, 0);
  ASSERT_TRUE(drain.finish().ok());
  expect_sequence(recording, self, 3);
  expect_sequence(recording, self + thread_number_step, 5);
  expect_sequence(recording, self + 2 * thread_number_step, 8);
}

// A name that an earlier life used costs no segment of the pool.
TEST_F(DrainTest, LivesOfOneProcessTakeASegmentEachFromThePool) {
  Recording recording = make();
  Drain drain(dir_.path(), recording, 8);
  for (int life = 0; life < 4; ++life) {
    JournalWriter::use_directory(dir_.path().c_str());
    write_numbers(1);
  }
  ControlPage page{};
  std::FILE* file = std::fopen((dir_ / "journal/control").c_str(), "r");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(std::fread(&page, sizeof page, 1, file), 1u);
  std::fclose(file);
  EXPECT_EQ(page.pool_head, 4u);
}

TEST_F(DrainTest, DeletesASegmentOnlyWhenItIsDone) {
  Recording recording = make();
  Drain drain(dir_.path(), recording, 0);
  write_numbers(10);
  EXPECT_EQ(drain.poll(), 10u);
  EXPECT_EQ(segments(), 1u) << "its writer goes on";
  write_numbers(journal_segment_slots);
  EXPECT_EQ(drain.poll(), std::size_t{journal_segment_slots});
  EXPECT_EQ(segments(), 1u) << "the first one is full and gone";
  ASSERT_TRUE(drain.finish().ok());
  EXPECT_EQ(drain.live_writers(), 1u);
  EXPECT_EQ(segments(), 1u) << "a living writer keeps its segment";
}

TEST_F(DrainTest, GapsAndLossesAreCounted) {
  Recording recording = make();
  std::thread([] {
    journal(rec::wait{.transfer = 0});
    JournalWriter::for_this_thread()->lose();
    journal(rec::wait{.transfer = 1});
    JournalWriter::for_this_thread()->lose(); // at the end: no gap can show it
  }).join();
  Drain drain(dir_.path(), recording);
  ASSERT_TRUE(drain.finish().ok());
  EXPECT_EQ(drain.records(), 2u);
  EXPECT_EQ(drain.gaps(), 1u);
  EXPECT_EQ(drain.dropped(), 2u);
  EXPECT_EQ(recording.get_int("dropped", -1), 2);
  EXPECT_EQ(recording.get_int("gaps", -1), 1);
  EXPECT_EQ(recording.count("journal_file", "gaps = 1 AND records = 2").value(), 1);
}

TEST_F(DrainTest, LosesNothingOfAKilledWriter) {
  Recording recording = make();
  Drain drain(dir_.path(), recording, 2);
  int progress[2];
  int go_on[2];
  ASSERT_EQ(pipe(progress), 0);
  ASSERT_EQ(pipe(go_on), 0);
  constexpr std::uint64_t in_step = 20'000;
  // In step with the drain, which it would outrun for minutes, until it is let loose and shot.
  const pid_t child = start_child([&]() -> int {
    for (std::uint64_t i = 0;; ++i) {
      journal(rec::wait{.transfer = i});
      if (i % 500 != 0 || i > in_step) continue;
      if (write(progress[1], &i, sizeof i) != sizeof i) return 1;
      char byte;
      if (read(go_on[0], &byte, 1) != 1) return 1;
    }
  });
  std::uint64_t reached = 0;
  while (reached < in_step) {
    ASSERT_EQ(read(progress[0], &reached, sizeof reached), 8);
    drain.poll();
    ASSERT_EQ(write(go_on[1], "x", 1), 1);
  }
  usleep(1000);
  kill(child, SIGKILL);
  wait_status(child);
  for (const int fd : {progress[0], progress[1], go_on[0], go_on[1]})
    close(fd);
  ASSERT_TRUE(drain.finish().ok());
  EXPECT_EQ(drain.live_writers(), 0u);
  EXPECT_EQ(segments(), 0u);
  EXPECT_GT(drain.records(), reached);
  expect_sequence(recording, static_cast<std::uint32_t>(child), drain.records());
}

// The recorder is killed over and over at whatever it is doing; nothing may be lost or doubled.
TEST_F(DrainTest, AKilledRecorderNeitherLosesNorDoubles) {
  // HITPROOF_TEST_KILLS: how often; the full sweep is 200.
  const char* const kills = std::getenv("HITPROOF_TEST_KILLS");
  const int rounds = kills == nullptr ? 12 : std::max(1, std::atoi(kills));
  const std::uint64_t n = 5'000 * static_cast<std::uint64_t>(rounds);
  make();
  std::uint32_t thread = 0;
  const pid_t writer = start_child([n] {
    write_numbers(n);
    return 0;
  });
  thread = static_cast<std::uint32_t>(writer);
  for (int round = 0; round < rounds; ++round) {
    const pid_t recorder = start_child([&]() -> int {
      Result<Recording> recording = Recording::open_existing(dir_.path(), Access::read_write);
      if (!recording.ok()) return 1;
      Drain drain(dir_.path(), *recording, 2);
      for (;;)
        drain.poll();
    });
    usleep(static_cast<useconds_t>(3000 + 7919 * round % 20000));
    kill(recorder, SIGKILL);
    wait_status(recorder);
  }
  wait_status(writer);
  Result<Recording> recording = open_recovered(dir_.path());
  ASSERT_TRUE(recording.ok()) << recording.status().to_string();
  EXPECT_FALSE(recording->closed());
  EXPECT_EQ(recording->closed_reason(), "recovered");
  EXPECT_EQ(recording->get_int("records", 0), static_cast<std::int64_t>(n));
  EXPECT_EQ(recording->get_int("gaps", -1), 0);
  expect_sequence(*recording, thread, n);
  EXPECT_FALSE(has_leftovers(dir_.path()));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "data/recording.sqlite-wal"));
}

TEST_F(DrainTest, OnlyOneRecorderAtATime) {
  Recording recording = make();
  Drain first(dir_.path(), recording, 0);
  ASSERT_TRUE(first.status().ok());
  Result<Recording> other = Recording::open_existing(dir_.path(), Access::read_write);
  Drain second(dir_.path(), *other, 0);
  EXPECT_EQ(second.status().code(), Code::busy);
  EXPECT_EQ(second.poll(), 0u);
  EXPECT_EQ(second.finish().code(), Code::busy);
  EXPECT_EQ(open_recovered(dir_.path()).code(), Code::busy);
}

TEST_F(DrainTest, AClosedRecordingIsOpenedAsItIs) {
  {
    Recording recording = make();
    ASSERT_TRUE(Drain(dir_.path(), recording, 0).finish().ok());
    ASSERT_TRUE(recording.close("completed").ok());
  }
  const std::string before = read_all(dir_ / "data/recording.sqlite");
  Result<Recording> recording = open_recovered(dir_.path());
  ASSERT_TRUE(recording.ok());
  EXPECT_TRUE(recording->closed());
  EXPECT_EQ(read_all(dir_ / "data/recording.sqlite"), before);
  EXPECT_EQ(open_recovered(dir_ / "none").code(), Code::not_found);
}

TEST_F(DrainTest, DamageIsCountedAndKeptAsEvidence) {
  Recording recording = make();
  ASSERT_EQ(exit_code(start_child([] { return write_numbers(10), 0; })), 0);
  const std::string good = list_segments(dir_.path())->front();
  std::string bytes = read_all(good);
  const std::uint16_t unknown = 250;
  bytes.replace(journal_header_bytes + 3 * sizeof(Slot) + 12, 2,
                reinterpret_cast<const char*>(&unknown), 2);              // an unknown record type
  bytes.replace(journal_header_bytes + 5 * sizeof(Slot) + 8, 4, 4, '\0'); // a lost number
  write_text(good, bytes);
  write_text(dir_ / "journal/1-1-0.hpj", bytes.substr(0, 9000));
  write_text(dir_ / "journal/1-1-1.hpj", "");
  Drain drain(dir_.path(), recording, 0);
  const Status status = drain.finish();
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(drain.records(), 8u);
  EXPECT_EQ(recording.get_int("damaged_slots", -1), 2);
  EXPECT_EQ(recording.get_int("damaged_journals", -1), 1);
  EXPECT_EQ(drain.gaps(), 1u);
  EXPECT_TRUE(std::filesystem::exists(dir_ / "data/damaged/1-1-0.hpj"));
  EXPECT_EQ(segments(), 0u);
}

TEST_F(DrainTest, AFullDiskStopsTheDrainAndLosesNothing) {
  std::thread([] { write_numbers(20'000); }).join();
  Recording recording = make();
  // SQLite's own limit on the file's size acts as a full disk does.
  ASSERT_TRUE(recording.execute("PRAGMA max_page_count=60").ok());
  {
    Drain drain(dir_.path(), recording, 0);
    EXPECT_EQ(drain.poll(), 0u);
    EXPECT_EQ(drain.status().code(), Code::no_space) << drain.status().to_string();
    EXPECT_EQ(drain.finish().code(), Code::no_space);
  }
  EXPECT_TRUE(has_leftovers(dir_.path()));
  EXPECT_EQ(recording.count("wait").value(), 0);
  ASSERT_TRUE(recording.execute("PRAGMA max_page_count=1000000").ok());
  Drain drain(dir_.path(), recording, 0);
  const Status status = drain.finish();
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(recording.count("wait").value(), 20'000);
}

} // namespace
} // namespace hitproof::schema
