#include "child.h"
#include "schema/whole_file.h"
#include "temp_dir.h"

#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace hitproof::schema {
namespace {

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(folder))
    names.push_back(item.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

TEST(WholeFile, TheNewFileTakesThePlaceOfTheOld) {
  const TempDir dir;
  ASSERT_TRUE(write_whole(dir / "f", "a longer first text").ok());
  ASSERT_TRUE(write_whole(dir / "f", std::string("se\0cond", 7)).ok());
  EXPECT_EQ(read_all(dir / "f"), std::string("se\0cond", 7));
  EXPECT_EQ(names_in(dir.path()), Names{"f"});
}

TEST(WholeFile, UntilItIsKeptTheOldFileStands) {
  const TempDir dir;
  write_text(dir / "f", "old");
  const std::string large(200'000, 'x'); // more than the buffer holds
  {
    WholeFile file(dir / "f");
    file.stream() << large << std::flush;
    EXPECT_EQ(read_all(dir / "f"), "old");
    ASSERT_TRUE(file.keep().ok());
  }
  EXPECT_EQ(read_all(dir / "f"), large);
}

TEST(WholeFile, WhatIsNotKeptLeavesNothing) {
  const TempDir dir;
  write_text(dir / "f", "old");
  { WholeFile(dir / "f").stream() << "given up"; }
  EXPECT_EQ(read_all(dir / "f"), "old");
  EXPECT_EQ(names_in(dir.path()), Names{"f"});
}

TEST(WholeFile, AfterAFullDiskTheOldFileStands) {
  const TempDir dir;
  write_text(dir / "f", "old");
  const pid_t child = start_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    return write_whole(dir / "f", std::string(200'000, 'x')).code() == Code::no_space ? 0 : 1;
  });
  EXPECT_EQ(exit_code(child), 0);
  EXPECT_EQ(read_all(dir / "f"), "old");
  EXPECT_EQ(names_in(dir.path()), Names{"f"});
}

TEST(WholeFile, AKilledWriterLeavesTheOldFileAndNothingBesideIt) {
  const TempDir dir;
  const int nameless = open(dir.path().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (nameless < 0) GTEST_SKIP() << "this file system knows no nameless files";
  close(nameless);
  write_text(dir / "f", "old");
  const pid_t child = start_child([&]() -> int {
    WholeFile file(dir / "f");
    file.stream() << std::string(200'000, 'x') << std::flush;
    raise(SIGKILL);
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(wait_status(child)));
  EXPECT_EQ(read_all(dir / "f"), "old");
  EXPECT_EQ(names_in(dir.path()), Names{"f"});
  ASSERT_TRUE(write_whole(dir / "f", "new").ok());
  EXPECT_EQ(read_all(dir / "f"), "new");
  EXPECT_EQ(names_in(dir.path()), Names{"f"});
}

TEST(WholeFile, WithoutAFolderItIsNotFound) {
  const TempDir dir;
  EXPECT_EQ(write_whole(dir / "none/f", "x").code(), Code::not_found);
  EXPECT_EQ(write_synced(dir / "none/f", "x").code(), Code::not_found);
}

TEST(WholeFile, AFolderOfThatNameStays) {
  const TempDir dir;
  write_text(dir / "f/inside", "kept");
  EXPECT_EQ(write_whole(dir / "f", "x").code(), Code::io_error);
  EXPECT_EQ(read_all(dir / "f/inside"), "kept");
  EXPECT_EQ(names_in(dir.path()), Names{"f"});
}

// The two halves, as a close uses them: all files beside their places first, then the names.
TEST(WholeFile, BothNamesStandWhereTheRenamingFails) {
  const TempDir dir;
  ASSERT_TRUE(write_synced(dir / "f.new", "x").ok());
  std::filesystem::create_directory(dir / "f");
  EXPECT_EQ(put_into_place(dir / "f.new", dir / "f").code(), Code::io_error);
  EXPECT_EQ(names_in(dir.path()), (Names{"f", "f.new"}));
  std::filesystem::remove(dir / "f");
  EXPECT_TRUE(put_into_place(dir / "f.new", dir / "f").ok());
  EXPECT_EQ(put_into_place(dir / "f.new", dir / "f").code(), Code::not_found);
  EXPECT_EQ(read_all(dir / "f"), "x");
}

} // namespace
} // namespace hitproof::schema
