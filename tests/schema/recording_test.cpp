#include "child.h"
#include "schema/clock.h"
#include "schema/record_table.h"
#include "schema/recording.h"
#include "temp_dir.h"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <sys/resource.h>

namespace hitproof::schema {
namespace {

using testing::HasSubstr;

Recording make(const std::string& dir) {
  Result<Recording> recording = Recording::open_new(dir);
  EXPECT_TRUE(recording.ok()) << recording.status().to_string();
  return std::move(recording).value();
}

TEST(Recording, EveryRecordComesBackBitForBit) {
  const TempDir dir;
  Recording recording = make(dir.path());
  ASSERT_TRUE(recording.begin().ok());
  std::uint32_t seq = 0;
  for (const RecordInfo& record : all_records()) {
    unsigned char payload[max_payload_bytes];
    std::memset(payload, 'A' + static_cast<int>(seq % 26), sizeof payload);
    ++seq;
    const Status status = recording.insert(record.type, payload, {7, 8, seq, seq * 10u});
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  ASSERT_TRUE(recording.commit().ok());
  for (const RecordInfo& record : all_records())
    EXPECT_EQ(recording.count(record.name).value(), 1) << record.name;
  const auto rows = recording.read<rec::coverage>();
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].calls, 0x4343434343434343u);
  EXPECT_EQ(get_text((*rows)[0].name), std::string(48, 'C'));
  EXPECT_EQ((*rows)[0].origin.process, 7u);
  EXPECT_EQ((*rows)[0].origin.seq, 3u);
}

TEST(Recording, ExtremeValuesSurvive) {
  const TempDir dir;
  Recording recording = make(dir.path());
  rec::page_compare record;
  record.transfer = std::numeric_limits<std::uint64_t>::max();
  record.first_differ = -1;
  record.block = std::numeric_limits<std::uint32_t>::max();
  record.entry = 65535;
  ASSERT_TRUE(recording.insert(record, {1, 2, 0xffffffffu, ~0ull}).ok());
  const auto rows = recording.read<rec::page_compare>("WHERE first_differ = -1");
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().transfer, record.transfer);
  EXPECT_EQ(rows->front().first_differ, -1);
  EXPECT_EQ(rows->front().block, record.block);
  EXPECT_EQ(rows->front().origin.seq, 0xffffffffu);
  EXPECT_EQ(rows->front().origin.t_ns, ~0ull);
}

TEST(Recording, UnknownRecordsAreRefused) {
  const TempDir dir;
  Recording recording = make(dir.path());
  const unsigned char payload[max_payload_bytes] = {};
  EXPECT_EQ(recording.insert(200, payload, {}).code(), Code::invalid_argument);
}

TEST(Recording, ReadsInOrderAndStopsWhenAsked) {
  const TempDir dir;
  Recording recording = make(dir.path());
  for (const std::uint32_t seq : {3u, 1u, 2u})
    ASSERT_TRUE(recording.insert(rec::wait{.transfer = seq}, {1, 1, seq, 100 - seq}).ok());
  std::vector<std::uint64_t> seen;
  ASSERT_TRUE(recording
                  .each<rec::wait>({},
                                   [&](const Row<rec::wait>& row) {
                                     seen.push_back(row.transfer);
                                     return seen.size() < 2;
                                   })
                  .ok());
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(recording.read<rec::wait>("ORDER BY t_ns")->front().transfer, 3u);
  EXPECT_EQ(recording.read<rec::wait>("WHERE no_such = 1").code(), Code::invalid_argument);
}

TEST(Recording, FactsAndStudyTables) {
  const TempDir dir;
  Recording recording = make(dir.path());
  ASSERT_TRUE(recording.put("device", "sim").ok());
  ASSERT_TRUE(recording.put("device", "Hitproof simulated device (sim)").ok());
  ASSERT_TRUE(recording.put("answer", 42).ok());
  EXPECT_EQ(recording.get("device").value(), "Hitproof simulated device (sim)");
  EXPECT_EQ(recording.get_int("answer", 0), 42);
  EXPECT_EQ(recording.get_int("device", -1), -1);
  EXPECT_EQ(recording.get("nothing").code(), Code::not_found);
  EXPECT_EQ(recording.get_int("format_version", 0), recording_format_version);
  EXPECT_EQ(recording.get("page_digest").value(), "sha256-tree-1024x8");

  StudyOperation operation;
  operation.op = 3;
  operation.arm = "candidate";
  operation.kind = "reload";
  operation.prompt_template = "ledger";
  operation.trial = 2;
  operation.warmup = true;
  operation.which = "A";
  operation.status = "running";
  operation.prompt = sha256("x");
  ASSERT_TRUE(recording.put_operation(operation).ok());
  operation.status = "ok";
  operation.end_ns = 9;
  ASSERT_TRUE(recording.put_operation(operation).ok());
  ASSERT_TRUE(recording.put_token({3, 0, 17, sha256("l"), 0.125, 5}).ok());
  ASSERT_TRUE(recording.put_token({3, 1, 18, sha256("m"), 0.0, 6}).ok());
  ASSERT_TRUE(recording.put_exclusion("run-1", "first attempt", "wrong model").ok());
  ASSERT_TRUE(recording.put_process_exit(123, "rank", -1, SIGKILL).ok());
  const auto operations = recording.operations();
  ASSERT_EQ(operations->size(), 1u);
  EXPECT_EQ(operations->front().status, "ok");
  EXPECT_EQ(operations->front().prompt, sha256("x"));
  const auto tokens = recording.tokens(3);
  ASSERT_EQ(tokens->size(), 2u);
  EXPECT_EQ((*tokens)[1].token, 18);
  EXPECT_EQ((*tokens)[0].margin, 0.125);
  EXPECT_EQ(recording.tokens()->size(), 2u);
  Result<Query> query = recording.query("SELECT role, signal FROM process_exit WHERE pid = ?");
  query->bind(1, 123);
  ASSERT_TRUE(query->next());
  EXPECT_EQ(query->text(0), "rank");
  EXPECT_EQ(query->integer(1), SIGKILL);
  EXPECT_FALSE(query->next());
  EXPECT_TRUE(query->status().ok());
}

TEST(Recording, NeverOverwritten) {
  const TempDir dir;
  make(dir.path());
  EXPECT_EQ(Recording::open_new(dir.path()).code(), Code::invalid_argument);
}

TEST(Recording, ClosedIsOnePlainFile) {
  const TempDir dir;
  {
    Recording recording = make(dir.path());
    ASSERT_TRUE(recording.insert(rec::wait{}, {1, 1, 1, 1}).ok());
    EXPECT_FALSE(recording.closed());
    const Status status = recording.close("completed");
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  EXPECT_FALSE(std::filesystem::exists(dir / "data/recording.sqlite-wal"));
  EXPECT_FALSE(std::filesystem::exists(dir / "data/recording.sqlite-shm"));
  Result<Recording> again = Recording::open_existing(dir.path());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->closed());
  EXPECT_EQ(again->closed_reason(), "completed");
  EXPECT_TRUE(again->check_integrity().ok());
  EXPECT_EQ(again->insert(rec::wait{}, {}).ok(), false) << "opened for reading only";
  EXPECT_FALSE(std::filesystem::exists(dir / "data/recording.sqlite-wal"));
}

TEST(Recording, AKilledRecorderLeavesWhatItCommittedAndSaysUnclosed) {
  const TempDir dir;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = start_child([&]() -> int {
    Recording recording = make(dir.path());
    (void)recording.begin();
    for (std::uint32_t i = 1; i <= 5000; ++i)
      (void)recording.insert(rec::wait{}, {1, 1, i, i});
    (void)recording.commit();
    (void)recording.begin();
    (void)recording.insert(rec::wait{}, {1, 1, 5001, 1});
    if (write(ready[1], "x", 1) != 1) return 1;
    pause();
    return 0;
  });
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  wait_status(child);
  Result<Recording> recording = Recording::open_existing(dir.path());
  ASSERT_TRUE(recording.ok()) << recording.status().to_string();
  EXPECT_FALSE(recording->closed());
  EXPECT_EQ(recording->count("wait").value(), 5000);
  EXPECT_TRUE(recording->check_integrity().ok());
}

TEST(Recording, ForeignDamagedAndNewerFilesAreToldApart) {
  const TempDir dir;
  EXPECT_EQ(Recording::open_existing(dir.path()).code(), Code::not_found);
  write_text(dir / "data/recording.sqlite", std::string(5000, 'x'));
  EXPECT_EQ(Recording::open_existing(dir.path()).code(), Code::corruption);

  const TempDir other;
  {
    Recording recording = make(other.path());
    ASSERT_TRUE(recording.put("format_version", 2).ok());
    ASSERT_TRUE(recording.close("completed").ok());
  }
  const Result<Recording> newer = Recording::open_existing(other.path());
  EXPECT_EQ(newer.code(), Code::newer_format);
  EXPECT_THAT(newer.status().message(), HasSubstr("newer"));
  {
    Result<Recording> writable = Recording::open_existing(other.path(), Access::read_write);
    EXPECT_EQ(writable.code(), Code::newer_format);
  }

  const TempDir third;
  {
    Recording recording = make(third.path());
    ASSERT_TRUE(recording.execute("DROP TABLE recording").ok());
    ASSERT_TRUE(recording.checkpoint().ok());
  }
  EXPECT_EQ(Recording::open_existing(third.path()).code(), Code::corruption);
}

TEST(Recording, OlderOnesWithFewerTablesAndColumnsAreRead) {
  const TempDir dir;
  {
    Recording recording = make(dir.path());
    ASSERT_TRUE(recording.insert(rec::wait{.transfer = 5, .kind = 1}, {1, 1, 1, 1}).ok());
    ASSERT_TRUE(recording.execute("ALTER TABLE wait DROP COLUMN kind; DROP TABLE reuse").ok());
    ASSERT_TRUE(recording.close("completed").ok());
  }
  {
    Result<Recording> old = Recording::open_existing(dir.path());
    ASSERT_TRUE(old.ok());
    const auto waits = old->read<rec::wait>();
    ASSERT_TRUE(waits.ok()) << waits.status().to_string();
    ASSERT_EQ(waits->size(), 1u);
    EXPECT_EQ(waits->front().transfer, 5u);
    EXPECT_EQ(waits->front().kind, 0u);
    const auto reuses = old->read<rec::reuse>();
    ASSERT_TRUE(reuses.ok());
    EXPECT_TRUE(reuses->empty());
  }
  Result<Recording> writable = Recording::open_existing(dir.path(), Access::read_write);
  ASSERT_TRUE(writable.ok()) << writable.status().to_string();
  EXPECT_TRUE(writable->insert(rec::wait{.kind = 1}, {1, 1, 2, 2}).ok());
  EXPECT_TRUE(writable->insert(rec::reuse{}, {1, 1, 3, 3}).ok());
}

TEST(Recording, AFullDiskIsAClearStatus) {
  const TempDir dir;
  const pid_t child = start_child([&]() -> int {
    signal(SIGXFSZ, SIG_IGN);
    Recording recording = make(dir.path());
    const rlimit limit{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    Status status = recording.begin();
    for (std::uint32_t i = 1; status.ok() && i <= 100'000; ++i)
      status = recording.insert(rec::page_digest{}, {1, 1, i, i});
    if (status.ok()) status = recording.commit();
    return status.code() == Code::no_space || status.code() == Code::io_error ? 0 : 1;
  });
  EXPECT_EQ(exit_code(child), 0);
  Result<Recording> recording = Recording::open_existing(dir.path());
  ASSERT_TRUE(recording.ok()) << recording.status().to_string();
  EXPECT_FALSE(recording->closed());
}

TEST(Recording, ReadableWhileItIsWritten) {
  const TempDir dir;
  Recording writer = make(dir.path());
  ASSERT_TRUE(writer.insert(rec::wait{}, {1, 1, 1, 1}).ok());
  Result<Recording> reader = Recording::open_existing(dir.path());
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(writer.begin().ok());
  ASSERT_TRUE(writer.insert(rec::wait{}, {1, 1, 2, 2}).ok());
  EXPECT_EQ(reader->count("wait").value(), 1);
  ASSERT_TRUE(writer.commit().ok());
  EXPECT_EQ(reader->count("wait").value(), 2);
}

} // namespace
} // namespace hitproof::schema
