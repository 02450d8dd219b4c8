#include "child.h"
#include "schema/journal.h"
#include "schema/journal_reader.h"
#include "schema/segment_pool.h"
#include "temp_dir.h"

#include <barrier>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <thread>

namespace hitproof::schema {
namespace {

rec::wait wait_number(std::uint64_t n) {
  rec::wait record;
  record.transfer = n;
  record.request = ~n;
  return record;
}

// All records of a directory, by thread; checks that each one is whole.
struct Content {
  std::map<std::uint32_t, std::vector<std::uint64_t>> by_thread;
  std::size_t records = 0;
  std::uint64_t gaps = 0;
  std::uint64_t damaged = 0;
  std::size_t segments = 0;
};

Content read_journals(const std::string& dir) {
  Content content;
  std::map<std::uint32_t, std::uint32_t> last;
  const auto paths = list_segments(dir);
  EXPECT_TRUE(paths.ok());
  for (const std::string& path : *paths) {
    Result<JournalReader> reader = JournalReader::open(path);
    if (reader.code() == Code::incomplete) continue; // its writer died before the first record
    if (!reader.ok()) {
      ADD_FAILURE() << reader.status().to_string();
      continue;
    }
    const std::uint32_t tid = reader->header().tid;
    reader->seek(0, last[tid]);
    while (const Slot* slot = reader->next()) {
      rec::wait record;
      std::memcpy(&record, slot->payload, sizeof record);
      EXPECT_EQ(record.request, ~record.transfer) << "a torn record";
      content.by_thread[tid].push_back(record.transfer);
      ++content.records;
    }
    last[tid] = reader->last_seq();
    content.gaps += reader->gaps();
    content.damaged += reader->damaged();
    ++content.segments;
  }
  return content;
}

class JournalTest : public testing::Test {
 protected:
  void SetUp() override { JournalWriter::use_directory(dir_.path().c_str()); }
  void TearDown() override {
    JournalWriter::use_directory(nullptr);
    EXPECT_EQ(JournalWriter::for_this_thread(), nullptr);
  }
  TempDir dir_;
};

TEST_F(JournalTest, RecordsComeBackInOrder) {
  const std::uint64_t before = now();
  for (std::uint64_t i = 0; i < 100; ++i)
    EXPECT_TRUE(journal(wait_number(i)));
  const auto paths = list_segments(dir_.path());
  ASSERT_TRUE(paths.ok());
  ASSERT_EQ(paths->size(), 1u);
  Result<JournalReader> reader = JournalReader::open(paths->front());
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  EXPECT_EQ(reader->header().pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(reader->header().tid, static_cast<std::uint32_t>(syscall(SYS_gettid)));
  for (std::uint32_t i = 0; i < 100; ++i) {
    const Slot* slot = reader->next();
    ASSERT_NE(slot, nullptr);
    EXPECT_EQ(slot->seq, i + 1);
    EXPECT_EQ(slot->type, rec::wait::type);
    EXPECT_GE(slot->t_ns, before);
    rec::wait record;
    std::memcpy(&record, slot->payload, sizeof record);
    EXPECT_EQ(record.transfer, i);
  }
  EXPECT_EQ(reader->next(), nullptr);
  EXPECT_FALSE(reader->exhausted());
  journal(wait_number(100));
  EXPECT_NE(reader->next(), nullptr) << "a reader follows a growing journal";
}

TEST_F(JournalTest, MovesToFurtherSegments) {
  constexpr std::uint64_t n = 2 * journal_segment_slots + 5;
  for (std::uint64_t i = 0; i < n; ++i)
    ASSERT_TRUE(journal(wait_number(i)));
  const Content content = read_journals(dir_.path());
  EXPECT_EQ(content.segments, 3u);
  EXPECT_EQ(content.records, n);
  EXPECT_EQ(content.gaps, 0u);
}

TEST_F(JournalTest, ManyThreadsLoseNothing) {
  constexpr int threads = 16;
  constexpr std::uint64_t each = 10'000;
  std::barrier all_here(threads); // else one may go on in the journal of another
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&] {
      journal(wait_number(0));
      all_here.arrive_and_wait();
      for (std::uint64_t i = 1; i < each; ++i)
        journal(wait_number(i));
    });
  for (auto& thread : pool)
    thread.join();
  const Content content = read_journals(dir_.path());
  EXPECT_EQ(content.by_thread.size(), std::size_t{threads});
  EXPECT_EQ(content.records, threads * each);
  EXPECT_EQ(content.gaps, 0u);
  for (const auto& [tid, values] : content.by_thread) {
    ASSERT_EQ(values.size(), each);
    for (std::uint64_t i = 0; i < each; ++i)
      ASSERT_EQ(values[i], i);
  }
}

TEST_F(JournalTest, AThreadGoesOnInTheJournalOfOneThatEnded) {
  constexpr std::uint64_t threads = 2000;
  for (std::uint64_t i = 0; i < threads; ++i)
    std::thread([i] { journal(wait_number(i)); }).join();
  const Content content = read_journals(dir_.path());
  EXPECT_EQ(content.segments, 1u);
  EXPECT_EQ(content.gaps, 0u);
  ASSERT_EQ(content.by_thread.size(), 1u);
  const std::vector<std::uint64_t>& values = content.by_thread.begin()->second;
  ASSERT_EQ(values.size(), threads);
  for (std::uint64_t i = 0; i < threads; ++i)
    ASSERT_EQ(values[i], i);
}

TEST_F(JournalTest, ThreadsThatComeAndGoAtOnceLoseNothing) {
  constexpr int starters = 8;
  constexpr std::uint64_t each = 500;
  std::vector<std::thread> pool;
  for (int t = 0; t < starters; ++t)
    pool.emplace_back([] {
      for (std::uint64_t i = 0; i < each; ++i)
        std::thread([i] { journal(wait_number(i)); }).join();
    });
  for (auto& thread : pool)
    thread.join();
  const Content content = read_journals(dir_.path());
  EXPECT_EQ(content.records, starters * each);
  EXPECT_EQ(content.gaps, 0u);
  EXPECT_EQ(content.damaged, 0u);
  EXPECT_LE(content.by_thread.size(), std::size_t{starters});
}

// The first thread's journal is in use by the second one when the system gives the first one's id
// to a third. Without numbers of their own the two journals would be one to a reader.
TEST_F(JournalTest, AThreadIdThatComesAgainGetsANumberOfItsOwn) {
  pid_t first = 0;
  std::thread([&] {
    first = static_cast<pid_t>(syscall(SYS_gettid));
    journal(wait_number(0));
  }).join();
  std::barrier begun(2), read(2);
  std::thread second([&] {
    journal(wait_number(1));
    begun.arrive_and_wait();
    read.arrive_and_wait();
  });
  begun.arrive_and_wait();
  bool again = false;
  for (int attempt = 0; attempt < 50 && !again; ++attempt) {
    std::ofstream("/proc/sys/kernel/ns_last_pid") << first - 1;
    std::thread([&] {
      again = static_cast<pid_t>(syscall(SYS_gettid)) == first;
      if (again) journal(wait_number(2));
    }).join();
  }
  read.arrive_and_wait();
  second.join();
  if (!again) GTEST_SKIP() << "the system's next thread id cannot be chosen here";
  const Content content = read_journals(dir_.path());
  const auto one = static_cast<std::uint32_t>(first);
  ASSERT_EQ(content.by_thread.size(), 2u);
  EXPECT_EQ(content.by_thread.at(one), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(content.by_thread.at(one + (1u << 22)), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(content.gaps, 0u);
}

TEST_F(JournalTest, AnnouncedLossesAreGaps) {
  journal(wait_number(0));
  JournalWriter* writer = JournalWriter::for_this_thread();
  const std::uint64_t before = JournalWriter::dropped_in_process();
  writer->lose();
  writer->lose();
  journal(wait_number(1));
  EXPECT_EQ(writer->dropped(), 2u);
  EXPECT_EQ(JournalWriter::dropped_in_process(), before + 2);
  EXPECT_EQ(writer->sequence(), 4u);
  const Content content = read_journals(dir_.path());
  EXPECT_EQ(content.records, 2u);
  EXPECT_EQ(content.gaps, 2u);
}

TEST_F(JournalTest, AForkedChildWritesItsOwnJournal) {
  journal(wait_number(1));
  const pid_t child = start_child([] {
    for (std::uint64_t i = 10; i < 20; ++i)
      if (!journal(wait_number(i))) return 1;
    return JournalWriter::for_this_thread()->sequence() == 10 ? 0 : 2;
  });
  EXPECT_EQ(exit_code(child), 0);
  journal(wait_number(2));
  const Content content = read_journals(dir_.path());
  EXPECT_EQ(content.gaps, 0u);
  const auto own = static_cast<std::uint32_t>(syscall(SYS_gettid));
  EXPECT_EQ(content.by_thread.at(own), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(content.by_thread.at(static_cast<std::uint32_t>(child)).size(), 10u);
}

TEST_F(JournalTest, SurvivesSigkillOfTheWriter) {
  int progress[2];
  ASSERT_EQ(pipe(progress), 0);
  const pid_t child = start_child([&]() -> int {
    for (std::uint64_t i = 0;; ++i) {
      journal(wait_number(i));
      if (i % 1000 == 0 && write(progress[1], &i, sizeof i) != sizeof i) return 1;
    }
  });
  std::uint64_t reached = 0;
  while (reached < 30'000)
    ASSERT_EQ(read(progress[0], &reached, sizeof reached), 8);
  kill(child, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(wait_status(child)));
  close(progress[0]);
  close(progress[1]);
  const Content content = read_journals(dir_.path());
  const auto& values = content.by_thread.at(static_cast<std::uint32_t>(child));
  EXPECT_GT(values.size(), reached);
  EXPECT_EQ(content.gaps, 0u);
  EXPECT_EQ(content.damaged, 0u);
  for (std::uint64_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], i);
}

TEST_F(JournalTest, AFullDiskIsCountedAndTheProgramGoesOn) {
  const pid_t child = start_child([] {
    // Too small for any segment: as a full disk is, but without one.
    const rlimit limit{16384, 16384};
    setrlimit(RLIMIT_FSIZE, &limit);
    errno = 77;
    for (std::uint64_t i = 0; i < 100; ++i)
      if (journal(wait_number(i))) return 1;
    if (errno != 77) return 2;
    return JournalWriter::dropped_in_process() == 100 ? 0 : 3;
  });
  EXPECT_EQ(exit_code(child), 0);
  SegmentPool control;
  ASSERT_TRUE(control.open(dir_.path(), 0).ok());
  EXPECT_EQ(control.dropped(), 100u) << "losses without a segment show in the control page";
}

TEST_F(JournalTest, ASmallSegmentServesWhereALargeOneDoesNotFit) {
  const pid_t child = start_child([] {
    const rlimit limit{100'000, 100'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (std::uint64_t i = 0; i < 2000; ++i)
      if (!journal(wait_number(i))) return 1;
    return 0;
  });
  EXPECT_EQ(exit_code(child), 0);
  const Content content = read_journals(dir_.path());
  EXPECT_EQ(content.records, 2000u);
  EXPECT_GT(content.segments, 3u);
}

TEST_F(JournalTest, ASignalHandlerInsideAnAppendLosesAndCounts) {
  // The child inherits a writer, so that the handler may also come while it begins anew, but never
  // has to allocate one.
  journal(wait_number(0));
  const pid_t child = start_child([] {
    static std::atomic<std::uint64_t> in_handler{0};
    static std::atomic<std::uint64_t> refused{0};
    struct sigaction action {};
    action.sa_handler = [](int) {
      ++in_handler;
      if (!journal(wait_number(7))) ++refused;
    };
    sigaction(SIGALRM, &action, nullptr);
    const itimerval timer{{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &timer, nullptr);
    std::uint64_t own = 0;
    while (in_handler < 200)
      if (journal(wait_number(1))) ++own;
    const itimerval off{};
    setitimer(ITIMER_REAL, &off, nullptr);
    journal(wait_number(1));
    JournalWriter* writer = JournalWriter::for_this_thread();
    if (JournalWriter::dropped_in_process() != refused) return 1;
    // Losses while the writer itself was being made have no sequence number yet.
    const std::uint64_t unnumbered = refused - writer->dropped();
    return writer->sequence() + unnumbered == own + 1 + in_handler ? 0 : 2;
  });
  EXPECT_EQ(exit_code(child), 0);
  const Content content = read_journals(dir_.path());
  EXPECT_EQ(content.damaged, 0u);
}

TEST_F(JournalTest, TakesPrefaultedSegmentsFromThePool) {
  SegmentPool pool;
  ASSERT_TRUE(pool.open(dir_.path(), 2).ok());
  pool.fill();
  EXPECT_TRUE(std::filesystem::exists(dir_ / "journal/pool/1.hpj"));
  std::thread([] {
    for (std::uint64_t i = 0; i < 3 * journal_segment_slots; ++i)
      journal(wait_number(i));
  }).join();
  EXPECT_FALSE(std::filesystem::exists(dir_ / "journal/pool/0.hpj"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "journal/pool/1.hpj"));
  pool.fill();
  EXPECT_TRUE(std::filesystem::exists(dir_ / "journal/pool/3.hpj"));
  pool.remove();
  EXPECT_FALSE(std::filesystem::exists(dir_ / "journal/pool"));
  EXPECT_EQ(read_journals(dir_.path()).records, 3u * journal_segment_slots);
}

TEST_F(JournalTest, AnEarlierProcessWithTheSameNumbersIsNotOverwritten) {
  const auto tid = std::to_string(syscall(SYS_gettid));
  const std::string taken = dir_ / ("journal/" + std::to_string(getpid()) + "-" + tid + "-0.hpj");
  write_text(taken, "somebody else's");
  EXPECT_TRUE(journal(wait_number(1)));
  EXPECT_EQ(read_all(taken), "somebody else's");
  EXPECT_EQ(list_segments(dir_.path())->size(), 2u);
}

TEST(Journal, WithoutADirectoryNothingHappens) {
  JournalWriter::use_directory("");
  EXPECT_EQ(JournalWriter::for_this_thread(), nullptr);
  EXPECT_FALSE(journal(wait_number(1)));
  JournalWriter::use_directory("not/absolute");
  EXPECT_EQ(JournalWriter::for_this_thread(), nullptr);
  JournalWriter::use_directory("/proc/no/such/place");
  EXPECT_EQ(JournalWriter::for_this_thread(), nullptr);
}

TEST(JournalReader, ForeignDamagedAndNewerFilesAreToldApart) {
  const TempDir dir;
  JournalWriter::use_directory(dir.path().c_str());
  std::thread([] {
    for (std::uint64_t i = 0; i < 10; ++i)
      journal(wait_number(i));
  }).join();
  JournalWriter::use_directory(nullptr);
  const std::string whole = read_all(list_segments(dir.path())->front());
  const auto opened = [&](std::string bytes) {
    write_text(dir / "x.hpj", bytes);
    return JournalReader::open(dir / "x.hpj").code();
  };
  EXPECT_EQ(opened(whole), Code::ok);
  EXPECT_EQ(opened(""), Code::incomplete);
  EXPECT_EQ(opened(whole.substr(0, 100)), Code::incomplete);
  EXPECT_EQ(opened(std::string(8192, '\0')), Code::incomplete);
  EXPECT_EQ(opened(whole.substr(0, 8192)), Code::corruption);
  EXPECT_EQ(opened("SQLite format 3" + whole.substr(15)), Code::corruption);
  std::string newer = whole;
  newer[7] = '2';
  EXPECT_EQ(opened(newer), Code::newer_format);
  EXPECT_EQ(JournalReader::open(dir / "none").code(), Code::not_found);

  std::string zeroed = whole; // the third record's sequence number is gone
  zeroed.replace(journal_header_bytes + 2 * sizeof(Slot) + 8, 4, 4, '\0');
  write_text(dir / "x.hpj", zeroed);
  Result<JournalReader> reader = JournalReader::open(dir / "x.hpj");
  ASSERT_TRUE(reader.ok());
  int records = 0;
  while (reader->next() != nullptr)
    ++records;
  EXPECT_EQ(records, 9);
  EXPECT_EQ(reader->damaged(), 1u);
  EXPECT_EQ(reader->gaps(), 1u);
}

} // namespace
} // namespace hitproof::schema
