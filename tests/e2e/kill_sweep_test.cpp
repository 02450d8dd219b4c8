// SIGKILL at any moment to any process of a study: a clear message, no process left behind, and
// everything recorded so far readable and marked incomplete.
#include "tests/e2e/run.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <signal.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace hitproof::e2e {
namespace {

using namespace std::chrono_literals;

std::string command_line(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  std::string words = text.str();
  for (char& c : words)
    if (c == '\0') c = ' ';
  return words;
}

// A study of which one process is killed; returns the study's exit code.
int study_with_kill(const std::string& out, const std::string& log, const std::string& victim,
                    std::chrono::milliseconds when) {
  pid_t study = fork();
  if (study == 0) {
    int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    const std::string path = program("hitproof");
    execl(path.c_str(), path.c_str(), "study", "boundary", "--preset", "micro", "--lengths",
          "255,256,257", "--tokens", "16", "--save-delay-ms", "20", "--arms", "candidate",
          "--quiet", "--out", out.c_str(), nullptr);
    _exit(127);
  }
  std::this_thread::sleep_for(when);
  if (victim == "study") {
    kill(study, SIGKILL);
  } else {
    const auto deadline = std::chrono::steady_clock::now() + 5s;
    for (bool done = false; !done && std::chrono::steady_clock::now() < deadline;) {
      for (int pid : processes_of(out)) {
        if (pid == study ||
            command_line(pid).find("hitproof-engine " + victim) == std::string::npos)
          continue;
        kill(pid, SIGKILL);
        done = true;
        break;
      }
      if (waitpid(study, nullptr, WNOHANG | WNOWAIT) == study) break;
      std::this_thread::sleep_for(2ms);
    }
  }
  int status = 0;
  waitpid(study, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void expect_nothing_left(const std::string& out) {
  for (int i = 0; i < 500 && !processes_of(out).empty(); ++i)
    std::this_thread::sleep_for(10ms);
  for (int pid : processes_of(out))
    ADD_FAILURE() << "left behind: " << pid << " " << command_line(pid);
}

// Moments in all: 16, or what HITPROOF_TEST_KILLS says (the full sweep is 200; other moments with
// another HITPROOF_TEST_SEED).
unsigned long from_environment(const char* name, unsigned long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoul(text, nullptr, 10);
}

TEST(KillSweep, EveryProcessAtManyMoments) {
  TempDir dir("kill");
  std::mt19937 random(from_environment("HITPROOF_TEST_SEED", 7));
  const unsigned long each = (from_environment("HITPROOF_TEST_KILLS", 16) + 3) / 4;
  unsigned long studies = 0, before = 0, after = 0;
  int number = 0;
  for (const std::string victim : {"study", "front", "rank", "cache-server"}) {
    for (unsigned long i = 0; i < each; ++i) {
      const auto when = std::chrono::milliseconds(random() % 2500);
      const std::string out = dir.path("s" + std::to_string(number)),
                        log = dir.path("log" + std::to_string(number));
      ++number;
      SCOPED_TRACE(victim + " after " + std::to_string(when.count()) + " ms");
      const int code = study_with_kill(out, log, victim, when);
      ++studies;
      expect_nothing_left(out);
      const std::string archive = out + "/candidate";
      if (!std::filesystem::exists(archive + "/data/recording.sqlite")) { // killed before it began
        ++before;
        continue;
      }
      if (code == 0 || code == 1) { // it had ended before the kill
        ++after;
        continue;
      }
      if (victim != "study") {
        std::ifstream text(log);
        std::stringstream words;
        words << text.rdbuf();
        EXPECT_NE(words.str().find("hitproof: "), std::string::npos)
            << "no message: " << words.str();
      }
      Outcome inspect = run({program("hitproof"), "inspect", archive});
      EXPECT_NE(inspect.exit_code, 139);
      EXPECT_TRUE(inspect.out.find("INCOMPLETE") != std::string::npos)
          << inspect.out << inspect.err;
      Outcome audit = run({program("hitproof"), "audit", archive});
      EXPECT_TRUE(audit.exit_code == 3 || audit.exit_code == 1)
          << audit.exit_code << audit.out << audit.err;
      std::filesystem::remove_all(out);
    }
  }
  std::printf("%lu studies: %lu killed before they had recorded, %lu had ended, %lu archives "
              "incomplete and read\n",
              studies, before, after, studies - before - after);
  // A sweep that never meets a recording proves nothing.
  EXPECT_GE(4 * (studies - before - after), studies);
}

} // namespace
} // namespace hitproof::e2e
