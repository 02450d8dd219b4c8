// Other people's tools read an archive: sha256sum, and bagit.py where Python has it.
#include "tests/audit/fixture.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace hitproof::schema {
namespace {

using audit::testing::ScratchDir;

int run(const std::string& command) {
  const int status = std::system((command + " >&2").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string python() {
  const char* named = std::getenv("HITPROOF_PYTHON");
  return named != nullptr ? named : "python3";
}

bool python_has(const std::string& module) {
  return run(python() + " -c 'import " + module + "' 2>/dev/null") == 0;
}

class Tools : public testing::Test {
 protected:
  void SetUp() override { audit::testing::copy_good_study(dir_.path()); }
  int inside(const std::string& command) { return run("cd '" + dir_.path() + "' && " + command); }
  void damage() { std::ofstream(dir_.path() + "/data/plan.toml", std::ios::app) << "#"; }
  ScratchDir dir_;
};

TEST_F(Tools, Sha256sumReadsBothManifests) {
  EXPECT_EQ(inside("sha256sum --strict -c manifest-sha256.txt"), 0);
  EXPECT_EQ(inside("sha256sum --strict -c tagmanifest-sha256.txt"), 0);
  damage();
  EXPECT_NE(inside("sha256sum --strict -c manifest-sha256.txt"), 0);
}

TEST_F(Tools, BagitPyValidates) {
  if (!python_has("bagit")) GTEST_SKIP() << "no Python package bagit; set HITPROOF_PYTHON";
  const std::string validate = python() + " -m bagit --validate .";
  EXPECT_EQ(inside(validate), 0);
  damage();
  EXPECT_NE(inside(validate), 0);
}

} // namespace
} // namespace hitproof::schema
