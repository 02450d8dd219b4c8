// What only a terminal gets: bars and colours. And what --quiet leaves: nothing on stderr.
#include "schema/archive.h"
#include "tests/audit/fixture.h"
#include "tests/cli/program.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::cli::testing {
namespace {

const std::string redrawn = "\r\033[K", colour = "\033[";

// False where the machine gives out no terminals: a container without /dev/pts.
bool has_terminals() {
  int terminal = -1, program = -1;
  if (openpty(&terminal, &program, nullptr, nullptr, nullptr) != 0) return false;
  close(terminal);
  close(program);
  return true;
}

// All that a command writes into a terminal of its own.
std::string in_terminal(const std::string& command) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child < 0) {
    ADD_FAILURE() << "no terminal for " << command;
    return "";
  }
  if (child == 0) {
    setenv("PATH", (HITPROOF_BIN_DIR ":" + std::string(std::getenv("PATH"))).c_str(), 1);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  std::string text;
  char chunk[4096];
  for (ssize_t got = 0; (got = read(terminal, chunk, sizeof chunk)) > 0;)
    text.append(chunk, static_cast<std::size_t>(got));
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << "\n" << text;
  return text;
}

class TerminalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    good_ = scratch_.path() + "/good";
    std::filesystem::create_directories(good_);
    audit::testing::copy_good_study(good_);
    ASSERT_TRUE(schema::close_archive(good_).ok());
  }
  audit::testing::ScratchDir scratch_;
  std::string good_;
};

TEST_F(TerminalTest, BarsAreForTerminals) {
  if (!has_terminals()) GTEST_SKIP() << "this machine gives out no terminals (/dev/pts)";
  const std::string command = "hitproof selftest --only keys";
  EXPECT_NE(in_terminal(command + " >/dev/null").find(redrawn), std::string::npos);
  const Ran ran = run_shell(command);
  EXPECT_EQ(ran.exit, 0);
  EXPECT_NE(ran.err.find("selftest"), std::string::npos); // plain lines
  EXPECT_EQ(ran.err.find('\r'), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find('\033'), std::string::npos) << ran.err;
  EXPECT_EQ(in_terminal(command + " --quiet >/dev/null"), "");
}

TEST_F(TerminalTest, ColoursAreForTerminalsAndNotWithNoColor) {
  if (!has_terminals()) GTEST_SKIP() << "this machine gives out no terminals (/dev/pts)";
  const std::string command = "hitproof verify " + good_;
  unsetenv("NO_COLOR");
  EXPECT_NE(in_terminal(command).find(colour), std::string::npos);
  EXPECT_EQ(in_terminal("NO_COLOR=1 " + command).find(colour), std::string::npos);
  // An empty one does not count (no-color.org).
  EXPECT_NE(in_terminal("NO_COLOR= " + command).find(colour), std::string::npos);
  EXPECT_EQ(run_shell(command).out.find(colour), std::string::npos);
  EXPECT_EQ(in_terminal(command + " --json").find(colour), std::string::npos);
}

TEST_F(TerminalTest, QuietLeavesStderrEmpty) {
  const std::string scratch = scratch_.path();
  const std::vector<std::string> commands = {
      "audit " + good_,
      "verify " + good_,
      "inspect " + good_,
      "diff " + good_ + " " + good_,
      "export " + good_ + " --format html --out " + scratch + "/page",
      "merge " + good_ + " --audit --out " + scratch + "/m.sqlite",
      "merge " + good_ + " --out " + scratch + "/m.sqlite", // there already
      "selftest --only keys",
      "keygen --out " + scratch + "/k",
      "sign " + good_ + " --key " + scratch + "/k",
      "help",
      "completion bash",
      "study boundary --preset micro --lengths 255 --tokens 2 --arms control --out " + scratch +
          "/s"};
  for (const std::string& command : commands) {
    const Ran ran = run_shell("hitproof " + command + " --quiet");
    EXPECT_EQ(ran.err, "") << command;
    EXPECT_NE(ran.out, "") << command;
  }
  const Ran ran = run_shell("hitproof run --quiet --out " + scratch + "/r -- true");
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.err, "");
}

} // namespace
} // namespace hitproof::cli::testing
