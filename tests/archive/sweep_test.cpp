// One flipped bit, wherever it lies in whichever file of an archive, is found and the file is
// named.
#include "schema/archive.h"
#include "tests/audit/fixture.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

namespace hitproof::schema {
namespace {

namespace fs = std::filesystem;
using audit::testing::ScratchDir;

void flip(const fs::path& path, std::uint64_t bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(bit / 8);
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(byte ^ (1 << (bit % 8))));
  ASSERT_TRUE(file.good());
}

// Damage is found, and some damage names `file`, as the file concerned or in its words.
bool names(const std::vector<ArchiveProblem>& problems, const std::string& file) {
  for (const ArchiveProblem& p : problems)
    if (is_damage(p.kind) && (p.file == file || p.message.find(file) != std::string::npos))
      return true;
  return false;
}

// The first bit, the last, and `between` of a fixed seed.
std::vector<std::uint64_t> bits_of(std::uint64_t bytes, int between, std::mt19937_64& random) {
  std::vector<std::uint64_t> bits = {0, bytes * 8 - 1};
  for (int i = 0; i < between; ++i)
    bits.push_back(random() % (bytes * 8));
  return bits;
}

void sweep(const std::string& dir, int between) {
  ASSERT_TRUE(verify_archive(dir).value().empty()) << "the untouched archive";
  std::mt19937_64 random(20260730);
  std::size_t flips = 0;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(dir))
    if (entry.is_regular_file() && entry.file_size() > 0) files.push_back(entry.path());
  for (const fs::path& path : files) {
    const std::string name = path.lexically_relative(dir).generic_string();
    for (const std::uint64_t bit : bits_of(fs::file_size(path), between, random)) {
      flip(path, bit);
      const auto found = verify_archive(dir);
      ASSERT_TRUE(found.ok()) << found.status().to_string();
      ASSERT_TRUE(names(*found, name)) << name << ", bit " << bit;
      flip(path, bit);
      ++flips;
    }
  }
  EXPECT_GE(files.size(), 8u);
  std::printf("%zu flipped bits in %zu files\n", flips, files.size());
  EXPECT_TRUE(verify_archive(dir).value().empty()) << "after the last one was flipped back";
}

TEST(Sweep, AStudyWithItsControlArm) {
  const ScratchDir dir;
  audit::testing::copy_good_study(dir.path());
  sweep(dir.path(), 200);
}

TEST(Sweep, TheGoldenArchive) {
  const ScratchDir dir;
  const std::string unpack =
      "cd '" + dir.path() + "' && '" HITPROOF_CMAKE "' -E tar xf '" HITPROOF_GOLDEN "'";
  ASSERT_EQ(std::system(unpack.c_str()), 0);
  sweep(dir.path(), 20); // each of them hashes 30 MB
}

// What no bit does: a file cut, lost, added, renamed, turned into a link.
TEST(Sweep, EveryFileCutLostRenamedOrLinked) {
  const ScratchDir dir, aside;
  audit::testing::copy_good_study(dir.path());
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(dir.path()))
    if (entry.is_regular_file()) files.push_back(entry.path());
  for (const fs::path& path : files) {
    const std::string name = path.lexically_relative(dir.path()).generic_string();
    const fs::path kept = fs::path(aside.path()) / "kept";
    const auto expect_found = [&](const char* what) {
      EXPECT_TRUE(names(verify_archive(dir.path()).value(), name)) << name << " " << what;
    };
    fs::copy_file(path, kept);
    fs::resize_file(path, fs::file_size(path) - 1);
    expect_found("cut");
    fs::remove(path);
    expect_found("lost");
    fs::copy_file(kept, fs::path(path).concat("x"));
    expect_found("renamed");
    EXPECT_TRUE(names(verify_archive(dir.path()).value(), name + "x"));
    fs::remove(fs::path(path).concat("x"));
    fs::create_symlink(kept, path);
    expect_found("linked");
    fs::remove(path);
    fs::copy_file(kept, path);
    fs::remove(kept);
    ASSERT_TRUE(verify_archive(dir.path()).value().empty()) << name;
  }
}

} // namespace
} // namespace hitproof::schema
