// End-to-end tests run the built programs as a user does: a command line in, output and exit code
// out.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hitproof::e2e {

struct Outcome {
  int exit_code = -1; // 128 + signal where one ended it
  std::string out, err;
};

// Path of a program in the build's bin folder.
std::string program(const std::string& name);

// Runs a command to its end. Variables of `environment` are added.
Outcome run(const std::vector<std::string>& command,
            const std::map<std::string, std::string>& environment = {});

// The command of a study on preset micro that prints its answer alone: options of the test, then
// those of the case.
std::vector<std::string> micro_study(const std::string& kind,
                                     const std::vector<std::string>& options,
                                     const std::vector<std::string>& more = {});

// `hitproof audit DIR --json`, parsed; fails the test where that is not JSON.
nlohmann::json audit_json(const std::string& dir, int* exit_code = nullptr);

// Verdict of one rule in such a document.
std::string rule_verdict(const nlohmann::json& audit, const std::string& rule);

// Processes of this user whose environment has HITPROOF_DIR under `dir` or whose command line names
// it.
std::vector<int> processes_of(const std::string& dir);

// A folder that is removed with the object.
class TempDir {
 public:
  explicit TempDir(const std::string& name);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string path(const std::string& inside = "") const;

 private:
  std::filesystem::path path_;
};

} // namespace hitproof::e2e
