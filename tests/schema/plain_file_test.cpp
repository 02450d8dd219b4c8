#include "child.h"
#include "schema/mapped_hash.h"
#include "schema/plain_file.h"
#include "temp_dir.h"

#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace hitproof::schema {
namespace {

TEST(PlainFile, DigestsAreThoseOfTheWholeFileInItsOrder) {
  const TempDir dir;
  std::vector<std::string> paths, contents;
  for (const std::size_t bytes :
       {0u, 1u, 65536u, 65537u, (1u << 20) - 1, 1u << 20, (16u << 20) + 1}) {
    contents.emplace_back(bytes, static_cast<char>(bytes % 251));
    paths.push_back(dir / std::to_string(bytes));
    write_text(paths.back(), contents.back());
  }
  paths.push_back(dir / "none");
  const auto digests = hash_plain_files(paths);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    ASSERT_TRUE(digests[i].ok()) << paths[i];
    EXPECT_EQ(*digests[i], sha256(contents[i])) << paths[i];
  }
  EXPECT_EQ(digests.back().code(), Code::not_found);
}

// A file that shrinks under its reader: the pages behind its end are no longer there.
TEST(PlainFile, AFileCutWhileItIsReadIsAStatus) {
  const TempDir dir;
  write_text(dir / "short", std::string(100'000, 'x'));
  const int fd = open((dir / "short").c_str(), O_RDONLY | O_CLOEXEC);
  Sha256 hash;
  EXPECT_TRUE(hash_mapped(fd, 100'000, hash).ok());
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(hash_mapped(fd, 1 << 20, hash).code(), Code::io_error);
  // A bus error of other code still ends the program.
  const pid_t child = start_child([&] {
    const void* map = mmap(nullptr, 1 << 20, PROT_READ, MAP_SHARED, fd, 0);
    return *(static_cast<const volatile char*>(map) + (1 << 19));
  });
  const int status = wait_status(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
  close(fd);
}

} // namespace
} // namespace hitproof::schema
