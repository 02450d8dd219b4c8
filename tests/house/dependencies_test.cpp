// Which room may include which: the walls of the house, held against every source file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace hitproof {
namespace {

namespace fs = std::filesystem;

// A room and the prefixes of the headers of ours that it may include. A prefix that ends in ".h" is that
// one header. digest and clock are the parts of `schema` that lower rooms share: one SHA-256 and one time in the house.
const std::map<std::string, std::vector<std::string>> allowed = {
    {"schema", {"schema/"}},
    {"kernels", {"kernels/", "schema/sha256.h", "schema/page_digest.h"}},
    {"poison", {"poison/", "kernels/", "schema/"}},
    {"probes", {"probes/", "poison/", "kernels/", "schema/"}},
    {"engine", {"engine/", "kernels/", "probes/hitproof.h", "schema/sha256.h", "schema/clock.h"}},
    {"audit", {"audit/", "schema/"}},
    {"cli", {"cli/", "audit/", "schema/"}},
};

bool is_source(const fs::path& path) {
  static const std::set<std::string> endings = {".h", ".cpp", ".cu", ".cuh", ".def", ".inc"};
  return endings.count(path.extension()) > 0;
}

std::vector<std::string> includes_of(const fs::path& path) {
  static const std::regex include(R"re(^\s*#\s*include\s+"([^"]+)")re");
  std::vector<std::string> found;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_search(line, match, include)) found.push_back(match[1]);
  }
  return found;
}

// Empty where the include is allowed, else the complaint.
std::string complaint(const std::string& room, const fs::path& file, const std::string& header) {
  const auto slash = header.find('/');
  if (slash == std::string::npos || allowed.count(header.substr(0, slash)) == 0) return "";  // not one of the rooms
  for (const auto& prefix : allowed.at(room)) {
    const bool whole_header = prefix.ends_with(".h");
    if (whole_header ? header == prefix : header.rfind(prefix, 0) == 0) return "";
  }
  return file.string() + " includes " + header + ", which room " + room + " must not know";
}

TEST(Dependencies, RoomsIncludeOnlyWhatTheyMay) {
  size_t files = 0;
  for (const auto& [room, prefixes] : allowed) {
    for (const auto& item : fs::recursive_directory_iterator(fs::path(HITPROOF_SOURCE_DIR) / room)) {
      if (!item.is_regular_file() || !is_source(item.path())) continue;
      ++files;
      for (const auto& header : includes_of(item.path())) {
        const std::string wrong = complaint(room, item.path(), header);
        EXPECT_TRUE(wrong.empty()) << wrong;
      }
    }
  }
  EXPECT_GT(files, 100U) << "the scan did not find the tree";
}

TEST(Dependencies, TheScanCanFail) {
  EXPECT_FALSE(complaint("audit", "audit/a.cpp", "probes/hitproof.h").empty());
  EXPECT_FALSE(complaint("audit", "audit/a.cpp", "kernels/page_ops.h").empty());
  EXPECT_FALSE(complaint("engine", "engine/a.cpp", "probes/page_watch.h").empty());
  EXPECT_FALSE(complaint("engine", "engine/a.cpp", "schema/recording.h").empty());
  EXPECT_TRUE(complaint("audit", "audit/a.cpp", "schema/recording.h").empty());
}

TEST(Dependencies, TorchStaysInOneUnit) {
  std::vector<std::string> units;
  for (const auto& item : fs::recursive_directory_iterator(fs::path(HITPROOF_SOURCE_DIR) / "engine")) {
    if (!item.is_regular_file() || !is_source(item.path())) continue;
    std::ifstream file(item.path());
    for (std::string line; std::getline(file, line);)
      if (line.rfind("#include <ATen", 0) == 0 || line.rfind("#include <torch", 0) == 0 || line.rfind("#include <c10", 0) == 0) {
        units.push_back(item.path().filename());
        break;
      }
  }
  EXPECT_EQ(units, std::vector<std::string>{"matmul_torch.cpp"});
}

TEST(FileSizes, NoFileHasTwoSubjects) {
  std::vector<size_t> lengths;
  for (const auto& [room, prefixes] : allowed) {
    for (const auto& item : fs::recursive_directory_iterator(fs::path(HITPROOF_SOURCE_DIR) / room)) {
      if (!item.is_regular_file() || !is_source(item.path())) continue;
      std::ifstream file(item.path());
      size_t lines = 0;
      for (std::string line; std::getline(file, line);) ++lines;
      lengths.push_back(lines);
      EXPECT_LE(lines, 1000U) << item.path();
    }
  }
  std::sort(lengths.begin(), lengths.end());
  EXPECT_LE(lengths[lengths.size() / 2], 130U);
  EXPECT_LE(lengths[lengths.size() * 9 / 10], 400U);
}

}  // namespace
}  // namespace hitproof
