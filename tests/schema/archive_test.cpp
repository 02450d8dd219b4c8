#include "child.h"
#include "schema/archive.h"
#include "schema/drain.h"
#include "schema/journal.h"
#include "schema/plan.h"
#include "temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>

namespace hitproof::schema {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

std::string describe(const std::vector<ArchiveProblem>& problems) {
  std::string text;
  for (const ArchiveProblem& p : problems)
    text += std::string(archive_problem_name(p.kind)) + " " + p.file + ";";
  return text;
}

class ArchiveTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<Recording> recording = Recording::open_new(dir_.path());
    ASSERT_TRUE(recording.ok());
    ASSERT_TRUE(recording->close("completed").ok());
    Plan plan;
    plan.lengths = {128};
    ASSERT_TRUE(store_plan(dir_.path(), plan).ok());
    write_text(dir_ / "data/logs/front.log", "hello\n");
    write_text(dir_ / "data/logs/with blank.log", "x");
    const Result<ArchiveInfo> info = close_archive(dir_.path(), {{"Hitproof-Arm", "candidate"}});
    ASSERT_TRUE(info.ok()) << info.status().to_string();
    EXPECT_EQ(info->files, 4u);
    ASSERT_EQ(problems(), "");
  }

  std::string problems() {
    const auto found = verify_archive(dir_.path());
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    return describe(*found);
  }
  void flip(const std::string& name, std::size_t at) {
    std::string bytes = read_all(dir_ / name);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    write_text(dir_ / name, bytes);
  }
  TempDir dir_;
};

TEST_F(ArchiveTest, IsABagAsTheStandardSays) {
  EXPECT_TRUE(is_archive(dir_.path()));
  EXPECT_EQ(read_all(dir_ / "bagit.txt"),
            "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n");
  const std::string info = read_all(dir_ / "bag-info.txt");
  EXPECT_THAT(info, HasSubstr("Payload-Oxum: "));
  EXPECT_THAT(info, HasSubstr("\nHitproof-Arm: candidate\n"));
  const std::string manifest = read_all(dir_ / "manifest-sha256.txt");
  EXPECT_THAT(manifest, HasSubstr(to_hex(sha256("hello\n")) + "  data/logs/front.log\n"));
  EXPECT_THAT(manifest, HasSubstr("  data/logs/with blank.log\n"));
  EXPECT_THAT(read_all(dir_ / "tagmanifest-sha256.txt"),
              HasSubstr(to_hex(sha256(manifest)) + "  manifest-sha256.txt\n"));
}

TEST_F(ArchiveTest, EveryFlippedBitIsFound) {
  for (const std::string name :
       {"data/recording.sqlite", "data/plan.toml", "data/logs/front.log"}) {
    const std::size_t size = fs::file_size(dir_ / name);
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      flip(name, at);
      EXPECT_THAT(problems(), HasSubstr("changed_file " + name + ";")) << at;
      flip(name, at);
    }
  }
  for (const std::string name : {"bag-info.txt", "manifest-sha256.txt", "bagit.txt"}) {
    flip(name, 3);
    EXPECT_THAT(problems(), HasSubstr(name)) << name;
    flip(name, 3);
  }
  flip("tagmanifest-sha256.txt", 3);
  EXPECT_NE(problems(), "");
  flip("tagmanifest-sha256.txt", 3);
  EXPECT_EQ(problems(), "");
}

TEST_F(ArchiveTest, MissingAndAddedFilesAreFound) {
  fs::remove(dir_ / "data/logs/front.log");
  EXPECT_EQ(problems(), "bad_count bag-info.txt;missing_file data/logs/front.log;");
  write_text(dir_ / "data/logs/front.log", "hello\n");
  EXPECT_EQ(problems(), "");
  write_text(dir_ / "data/recording.sqlite-wal", "");
  EXPECT_EQ(problems(), "bad_count bag-info.txt;added_file data/recording.sqlite-wal;");
}

TEST_F(ArchiveTest, AFileTurnedIntoALinkIsFound) {
  fs::rename(dir_ / "data/logs/front.log", dir_ / "elsewhere");
  fs::create_symlink(dir_ / "elsewhere", dir_ / "data/logs/front.log");
  EXPECT_EQ(problems(), "bad_count bag-info.txt;changed_file data/logs/front.log;"
                        "added_file elsewhere;");
  EXPECT_EQ(close_archive(dir_.path()).code(), Code::invalid_argument);
}

TEST_F(ArchiveTest, EachBagFileIsNeeded) {
  for (const std::string name :
       {"bagit.txt", "bag-info.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"}) {
    const std::string text = read_all(dir_ / name);
    fs::remove(dir_ / name);
    EXPECT_THAT(problems(), HasSubstr("missing_file " + name + ";"));
    write_text(dir_ / name, text);
    EXPECT_EQ(problems(), "");
  }
}

TEST_F(ArchiveTest, ACloseThatWasCutOffIsNotClosedAndNotDamaged) {
  fs::rename(dir_ / "tagmanifest-sha256.txt", dir_ / "tagmanifest-sha256.txt.new");
  EXPECT_EQ(problems(), "not_closed tagmanifest-sha256.txt;");
  ASSERT_TRUE(close_archive(dir_.path()).ok());
  EXPECT_EQ(problems(), "");
}

TEST_F(ArchiveTest, NamesThatToolsReadInSeveralWaysAreNotArchived) {
  const std::string twins = "data/logs/FRONT.log";
  for (const std::string& name : {std::string("data/odd%name"), std::string("data/two\nlines"),
                                  std::string("data/back\\slash"), std::string("data/end "),
                                  std::string("data/\xc3\xa9"), std::string("data/ a/b"), twins}) {
    write_text(dir_ / name, "x");
    const auto closed = close_archive(dir_.path());
    EXPECT_EQ(closed.code(), Code::invalid_argument) << name;
    fs::remove(dir_ / name);
  }
  fs::remove(dir_ / "data/ a");
  EXPECT_TRUE(close_archive(dir_.path()).ok());
}

TEST_F(ArchiveTest, MalformedManifestsNameTheLine) {
  const std::string manifest = read_all(dir_ / "manifest-sha256.txt");
  const auto message = [&](const std::string& line) {
    write_text(dir_ / "manifest-sha256.txt", manifest + line);
    std::string text;
    for (const ArchiveProblem& p : *verify_archive(dir_.path()))
      if (p.kind == ArchiveProblemKind::bad_manifest) text += p.message;
    return text;
  };
  EXPECT_THAT(message("nonsense\n"), HasSubstr("line 5: "));
  EXPECT_THAT(message(std::string(64, 'a') + "\n"), HasSubstr("line 5: "));
  EXPECT_THAT(message(std::string(64, 'a') + "  ../../etc/passwd\n"),
              HasSubstr("out of the archive"));
  EXPECT_THAT(message(std::string(64, 'a') + "  /etc/passwd\n"), HasSubstr("out of the archive"));
  EXPECT_THAT(message(std::string(64, 'a') + "  data/x/../../../etc/passwd\n"),
              HasSubstr("out of the archive"));
  EXPECT_THAT(message(std::string(64, 'a') + "  data/%2e%2e/%2e%2e/etc\n"),
              HasSubstr("percent sign"));
  EXPECT_THAT(message(std::string(64, 'a') + "  data/z\r\n"), HasSubstr("line's end"));
  EXPECT_THAT(message(std::string(64, 'a') + "  data/./x\n"), HasSubstr("empty part"));
  EXPECT_THAT(message(std::string(64, 'a') + "  data//x\n"), HasSubstr("empty part"));
  EXPECT_THAT(message(std::string(64, 'A') + "  data/z\n"), HasSubstr("lower case"));
  EXPECT_THAT(message(std::string(64, 'a') + " *data/z\n"), HasSubstr("two blanks"));
  EXPECT_THAT(message(std::string(64, 'a') + "  data/z"), HasSubstr("no end"));
  EXPECT_THAT(message(std::string(64, 'a') + "  data/z\xcc\x81\n"), HasSubstr("ASCII"));
  EXPECT_THAT(message(std::string(64, 'a') + "  data/zz\n" + std::string(64, 'a') + "  data/zZ\n"),
              HasSubstr("behind a later name"));
  EXPECT_THAT(message(std::string(64, 'a') + "  data/zA\n" + std::string(64, 'a') + "  data/za\n"),
              HasSubstr("one name where case does not count"));
  EXPECT_THAT(message(std::string(64, 'a') + "  data/" + std::string(2000, 'z') + "\n"),
              HasSubstr("longer than"));
  EXPECT_THAT(message(std::string(64, 'a') + "  data/plan.toml\n"), HasSubstr("twice"));
  EXPECT_THAT(message(std::string(64, 'a') + "  stray.txt\n"), HasSubstr("under data/"));
}

TEST_F(ArchiveTest, NewerFormatsSaySo) {
  std::string info = read_all(dir_ / "bag-info.txt");
  info.replace(info.find("Archive-Format: 1"), 17, "Archive-Format: 2");
  write_text(dir_ / "bag-info.txt", info);
  EXPECT_THAT(problems(), HasSubstr("newer_format bag-info.txt;"));
  {
    Result<Recording> recording = Recording::open_existing(dir_.path(), Access::read_write);
    ASSERT_TRUE(recording->put("format_version", 99).ok());
  }
  ASSERT_TRUE(close_archive(dir_.path()).ok());
  EXPECT_EQ(problems(), "newer_format data/recording.sqlite;");
}

TEST_F(ArchiveTest, ClosingTwiceIsTheSameBag) {
  write_text(dir_ / "data/reference/note.txt", "control");
  ASSERT_TRUE(close_archive(dir_.path()).ok());
  EXPECT_EQ(problems(), "");
}

TEST(Archive, UndrainedJournalsKeepItOpen) {
  const TempDir dir;
  {
    Result<Recording> recording = Recording::open_new(dir.path());
    ASSERT_TRUE(recording->close("completed").ok());
  }
  JournalWriter::use_directory(dir.path().c_str());
  std::thread([] { journal(rec::wait{}); }).join();
  JournalWriter::use_directory(nullptr);
  EXPECT_EQ(close_archive(dir.path()).code(), Code::incomplete);
  EXPECT_THAT(describe(verify_archive(dir.path()).value()), HasSubstr("leftover journal;"));
}

// The folder of the payload is a link to the real one: what it leads to is not looked at.
TEST_F(ArchiveTest, APayloadBehindALinkIsNoPayload) {
  const TempDir other;
  fs::rename(dir_ / "data", other / "data");
  fs::create_directory_symlink(other / "data", dir_ / "data");
  EXPECT_THAT(problems(), HasSubstr("added_file data;"));
  EXPECT_THAT(problems(), HasSubstr("missing_file data/recording.sqlite;"));
}

TEST_F(ArchiveTest, SpecialFilesAreFoundWithoutWaitingForThem) {
  for (const std::string name : {"data/logs/front.log", "bagit.txt"}) {
    const std::string text = read_all(dir_ / name);
    fs::remove(dir_ / name);
    ASSERT_EQ(mkfifo((dir_ / name).c_str(), 0600), 0);
    EXPECT_THAT(problems(), HasSubstr(" " + name + ";"));
    fs::remove(dir_ / name);
    write_text(dir_ / name, text);
  }
  ASSERT_EQ(mkfifo((dir_ / "attestation.dsse.json").c_str(), 0600), 0);
  EXPECT_EQ(problems(), "added_file attestation.dsse.json;");
}

TEST_F(ArchiveTest, FilesBesideThePayloadAreFound) {
  for (const std::string name : {"notes.txt", "fetch.txt", "manifest-md5.txt", "more/deep.txt",
                                 "journal/1-1-0.hpj", "tagmanifest-sha256.txt.new"}) {
    write_text(dir_ / name, "x");
    EXPECT_EQ(problems(), "added_file " + name + ";");
    fs::remove(dir_ / name);
  }
  write_text(dir_ / "attestation.dsse.json", "{}"); // the one that may lie there
  EXPECT_EQ(problems(), "");
}

// A hundred times what an archive may have, in a text of 760 MB. The reader takes a fraction of it.
TEST_F(ArchiveTest, AManifestOfTenMillionLinesIsRefusedInBoundedMemory) {
  {
    std::ofstream file(dir_ / "manifest-sha256.txt", std::ios::binary);
    std::string text;
    for (int i = 0; i < 10'000'000; ++i) {
      text += std::string(64, 'a') + "  data/" + std::to_string(10'000'000 + i) + "\n";
      if (text.size() < (1u << 20)) continue;
      file << text;
      text.clear();
    }
    file << text;
  }
  const pid_t child = start_child([&] {
    const rlimit memory{256u << 20, 256u << 20};
    setrlimit(RLIMIT_DATA, &memory);
    const auto found = verify_archive(dir_.path());
    if (!found.ok()) return 1;
    const std::string text = describe(*found);
    return text.find("bad_manifest manifest-sha256.txt;") != std::string::npos &&
                   text.find("changed_file manifest-sha256.txt;") != std::string::npos
               ? 0
               : 2;
  });
  EXPECT_EQ(exit_code(child), 0);
}

TEST_F(ArchiveTest, AHundredThousandLinesAreTheMost) {
  std::string text;
  for (int i = 0; i <= 100'000; ++i)
    text += std::string(64, 'a') + "  data/" + std::to_string(1'000'000 + i) + "\n";
  write_text(dir_ / "manifest-sha256.txt", text);
  const auto found = verify_archive(dir_.path());
  ASSERT_TRUE(found.ok());
  EXPECT_LE(found->size(), 1001u);
  EXPECT_THAT(found->back().message, HasSubstr("further problems are not listed"));
  bool told = false;
  for (const ArchiveProblem& p : *found)
    told = told || p.message.find("at most 100000 files") != std::string::npos;
  EXPECT_TRUE(told);
}

TEST(Archive, OfNothing) {
  const TempDir dir;
  EXPECT_EQ(close_archive(dir.path()).code(), Code::not_found);
  EXPECT_EQ(verify_archive(dir / "none").code(), Code::not_found);
  EXPECT_FALSE(is_archive(dir.path()));
  EXPECT_THAT(describe(verify_archive(dir.path()).value()), HasSubstr("not_closed bagit.txt;"));
}

} // namespace
} // namespace hitproof::schema
