// Runs the program as runs.txt says and compares exit code and output.
#include "tests/audit/fixture.h"
#include "tests/cli/archives.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/wait.h>
#include <vector>

namespace hitproof::cli::testing {
namespace {

struct DeclaredRun {
  std::string name, command;
  int exit = -1;
  std::vector<std::string> expect, error, reject;
};

void PrintTo(const DeclaredRun& run, std::ostream* out) { *out << run.command; }

std::vector<DeclaredRun> read_runs() {
  std::vector<DeclaredRun> runs;
  std::ifstream in(HITPROOF_RUNS);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.find(' ');
    const std::string word = line.substr(0, space),
                      rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (word == "NAME") {
      runs.emplace_back();
      runs.back().name = rest;
      continue;
    }
    if (runs.empty()) throw std::runtime_error("runs.txt: a run begins with NAME");
    DeclaredRun& run = runs.back();
    if (word == "RUN")
      run.command = rest;
    else if (word == "EXIT")
      run.exit = std::stoi(rest);
    else if (word == "EXPECT")
      run.expect.push_back(rest);
    else if (word == "ERROR")
      run.error.push_back(rest);
    else if (word == "REJECT")
      run.reject.push_back(rest);
    else
      throw std::runtime_error("runs.txt: unknown word " + word);
  }
  return runs;
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const std::map<std::string, std::string>& archives() {
  static const audit::testing::ScratchDir root;
  static const std::map<std::string, std::string> made = make_archives(root.path());
  return made;
}

class RunsTest : public ::testing::TestWithParam<DeclaredRun> {};

TEST_P(RunsTest, BehavesAsDeclared) {
  const DeclaredRun& run = GetParam();
  audit::testing::ScratchDir scratch, streams;
  std::string command = run.command;
  const auto fill = [&](const std::string& name, const std::string& path) {
    const std::string what = "{" + name + "}";
    for (std::size_t at = command.find(what); at != std::string::npos; at = command.find(what)) {
      command.replace(at, what.size(), path);
    }
  };
  for (const auto& [name, path] : archives())
    fill(name, path);
  fill("scratch", scratch.path());
  if (command.find("sqlite3") != std::string::npos &&
      std::system("command -v sqlite3 >/dev/null") != 0) {
    GTEST_SKIP() << "no sqlite3 shell on this machine";
  }
  if (command.find("unshare -Urm") != std::string::npos &&
      std::system("unshare -Urm sh -c 'mount -t tmpfs none /mnt' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no file system of its own for a user of this machine";
  }
  const std::string out = streams.path() + "/out", err = streams.path() + "/err";
  const std::string script = streams.path() + "/run.sh";
  std::ofstream(script) << "PATH=\"" HITPROOF_BIN_DIR ":$PATH\"\n" << command << "\n";
  const int status =
      std::system(("/bin/sh " + script + " >" + out + " 2>" + err + " </dev/null").c_str());
  const std::string printed = contents(out), said = contents(err);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, run.exit) << command << "\n"
                                                                    << printed << "\n"
                                                                    << said;
  for (const std::string& piece : run.expect) {
    EXPECT_NE(printed.find(piece), std::string::npos) << "stdout lacks: " << piece << "\n"
                                                      << printed;
  }
  for (const std::string& piece : run.error) {
    EXPECT_NE(said.find(piece), std::string::npos) << "stderr lacks: " << piece << "\n" << said;
  }
  for (const std::string& piece : run.reject) {
    EXPECT_EQ(printed.find(piece), std::string::npos) << "stdout has: " << piece << "\n" << printed;
    EXPECT_EQ(said.find(piece), std::string::npos) << "stderr has: " << piece << "\n" << said;
  }
}

// The examples of docs/exports.md are among the runs, word for word.
TEST(Documents, EveryExampleIsRun) {
  std::ifstream in(HITPROOF_DOCS "/exports.md");
  int examples = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("    hitproof ", 0) != 0) continue;
    std::string command = line.substr(4);
    for (const auto& [written, run] : {std::pair<std::string, std::string>{"out/mine", "{good}"},
                                       {"out/other", "{full}"},
                                       {"out/again", "{again}"},
                                       {"--out exports", "--out {scratch}"}}) {
      for (std::size_t at = command.find(written); at != std::string::npos;
           at = command.find(written))
        command.replace(at, written.size(), run);
    }
    const auto runs = read_runs();
    EXPECT_TRUE(std::any_of(runs.begin(), runs.end(), [&](const DeclaredRun& run) {
      return run.command == command;
    })) << command;
    ++examples;
  }
  EXPECT_GE(examples, 9);
}

INSTANTIATE_TEST_SUITE_P(Declared, RunsTest, ::testing::ValuesIn(read_runs()),
                         [](const auto& instance) { return instance.param.name; });

} // namespace
} // namespace hitproof::cli::testing
