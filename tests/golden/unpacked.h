// A golden archive, unpacked for one test.
#pragma once

#include "tests/e2e/run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace hitproof::e2e {

class Unpacked : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto packed = std::filesystem::path(HITPROOF_GOLDEN_DIR) / (GetParam() + ".tar.xz");
    ASSERT_EQ(run({"sh", "-c",
                   "cd '" + dir_.path() + "' && '" HITPROOF_CMAKE "' -E tar xf '" +
                       packed.string() + "'"})
                  .exit_code,
              0);
  }
  // What stands beside it.
  static nlohmann::json expected() {
    std::ifstream file(std::filesystem::path(HITPROOF_GOLDEN_DIR) / (GetParam() + ".json"));
    return nlohmann::json::parse(file);
  }
  TempDir dir_{"golden"};
};

// Names of tests may have no hyphens.
inline std::string name_of_archive(const testing::TestParamInfo<std::string>& archive) {
  std::string name = archive.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

} // namespace hitproof::e2e
