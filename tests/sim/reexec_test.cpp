// The second start with a preload, and how it says what is wrong.
#include "engine/sim/reexec.h"

#include <climits>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::sim::tests {
namespace {

std::string folder() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  const std::string own(path, n > 0 ? static_cast<size_t>(n) : 0);
  return own.substr(0, own.rfind('/'));
}

std::string output(const std::string& command, int& status) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[512];
  while (pipe && fgets(buffer, sizeof buffer, pipe))
    text += buffer;
  status = pipe ? WEXITSTATUS(pclose(pipe)) : -1;
  return text;
}

TEST(Reexec, PutsTheProgramOnTheSimulatedDevice) {
  int status = -1;
  const std::string text = output(folder() + "/sim_reexec_program one 'two words'", status);
  EXPECT_EQ(status, 0) << text;
  EXPECT_NE(text.find("device: Hitproof simulated device (sim)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("/lib/hitproof/sim/libcudart.so.13\n"), std::string::npos) << text;
  EXPECT_NE(text.find("/lib/hitproof/sim/libcuda.so.1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("argument: one\nargument: two words\n"), std::string::npos) << text;
}

TEST(Reexec, AMissingProbeOrFolderIsNamed) {
  int status = -1;
  std::string text =
      output("TEST_PROBE=/nowhere/libhitproof.so " + folder() + "/sim_reexec_program", status);
  EXPECT_EQ(status, 1);
  EXPECT_NE(text.find("/nowhere/libhitproof.so cannot be read"), std::string::npos) << text;
  text = output("HITPROOF_SIM_DIR=/nowhere " + folder() + "/sim_reexec_program", status);
  EXPECT_EQ(status, 1);
  EXPECT_NE(text.find("HITPROOF_SIM_DIR"), std::string::npos) << text;
}

TEST(Reexec, AFileThatDoesNotLoadEndsInAMessageNotInALoop) {
  int status = -1;
  const std::string text = output("TEST_PROBE=/proc/self/status timeout 20 " + folder() +
                                      "/sim_reexec_program 2>/dev/null",
                                  status);
  EXPECT_EQ(status, 1);
  EXPECT_NE(text.find("did not load"), std::string::npos) << text;
}

TEST(Reexec, PreloadKeepsWhatIsThereAndRepeatsNothing) {
  EXPECT_EQ(sim_preload("/d", "/p.so", "/asan.so"),
            "/asan.so:/p.so:/d/libcudart.so.13:/d/libcuda.so.1");
  EXPECT_EQ(sim_preload("/d", "/p.so", "/p.so:/d/libcuda.so.1"),
            "/p.so:/d/libcuda.so.1:/d/libcudart.so.13");
  EXPECT_EQ(sim_preload("/d", "", ""), "/d/libcudart.so.13:/d/libcuda.so.1");
}

} // namespace
} // namespace hitproof::sim::tests
