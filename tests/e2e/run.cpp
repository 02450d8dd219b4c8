#include "tests/e2e/run.h"

#include <cctype>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::e2e {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace

std::string program(const std::string& name) { return std::string(HITPROOF_BIN_DIR) + "/" + name; }

Outcome run(const std::vector<std::string>& command,
            const std::map<std::string, std::string>& environment) {
  TempDir dir("run");
  const std::string out = dir.path("out"), err = dir.path("err");
  std::vector<char*> argv;
  std::vector<std::string> words = command;
  for (auto& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = fork();
  if (pid == 0) {
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    for (const auto& [name, value] : environment)
      setenv(name.c_str(), value.c_str(), 1);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = read_file(out);
  outcome.err = read_file(err);
  return outcome;
}

std::vector<std::string> micro_study(const std::string& kind,
                                     const std::vector<std::string>& options,
                                     const std::vector<std::string>& more) {
  std::vector<std::string> command = {program("hitproof"), "study", kind,
                                      "--preset",          "micro", "--quiet"};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

nlohmann::json audit_json(const std::string& dir, int* exit_code) {
  Outcome outcome = run({program("hitproof"), "audit", dir, "--json"});
  if (exit_code) *exit_code = outcome.exit_code;
  auto parsed = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << "audit --json printed: " << outcome.out << outcome.err;
  return parsed;
}

std::string rule_verdict(const nlohmann::json& audit, const std::string& rule) {
  if (!audit.contains(rule) || !audit[rule].is_object()) return "no such rule";
  return audit[rule].value("verdict", "no verdict");
}

std::vector<int> processes_of(const std::string& dir) {
  std::vector<int> found;
  for (const auto& item : fs::directory_iterator("/proc")) {
    const std::string name = item.path().filename();
    if (!std::isdigit(static_cast<unsigned char>(name[0])) || std::stoi(name) == getpid()) continue;
    const std::string environment = read_file(item.path() / "environ"),
                      words = read_file(item.path() / "cmdline");
    if (environment.find("HITPROOF_DIR=" + dir) != std::string::npos ||
        words.find(dir) != std::string::npos)
      found.push_back(std::stoi(name));
  }
  return found;
}

TempDir::TempDir(const std::string& name) {
  std::string pattern = (fs::temp_directory_path() / ("hitproof-" + name + "-XXXXXX")).string();
  path_ = mkdtemp(pattern.data());
}

TempDir::~TempDir() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::string TempDir::path(const std::string& inside) const {
  return inside.empty() ? path_.string() : (path_ / inside).string();
}

} // namespace hitproof::e2e
