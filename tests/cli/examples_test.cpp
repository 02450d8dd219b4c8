// The examples of the help texts, typed as they stand: every one that needs no GPU, no hours and no
// server of somebody's own. The others are parsed (manual_test.cpp).
#include "tests/audit/fixture.h"
#include "tests/cli/archives.h"
#include "tests/cli/program.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

namespace hitproof::cli::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The folders and files that the examples speak of.
void furnish(const std::string& root) {
  const audit::testing::ScratchDir made;
  const auto archives = make_archives(made.path());
  const auto put = [&](const char* archive, const std::string& where) {
    fs::create_directories(fs::path(root + "/" + where).parent_path());
    fs::copy(archives.at(archive), root + "/" + where, fs::copy_options::recursive);
  };
  put("good", "out/demo/candidate");
  put("full", "out/demo/full");
  put("metadata", "out/mine");
  put("good", "yesterday");
  put("short", "today");
  put("good", "runs/monday");
  put("full", "runs/tuesday");
  EXPECT_EQ(run_shell("hitproof keygen --out lab.key && hitproof sign out/demo/candidate --key "
                      "lab.key",
                      root)
                .exit,
            0);
}

// Why an example is not run, or nothing.
std::string left_out(const std::string& command, const std::string& example) {
  static const std::set<std::string> long_or_served = {"demo", "study", "run", "serve"};
  const std::string name = command.substr(command.find(' ') + 1);
  if (long_or_served.contains(name.substr(0, name.find(' ')))) return "a study or a server";
  if (example.find("curl") != std::string::npos) return "a server";
  if (example.find("parquet") != std::string::npos && !has_program("duckdb")) return "no DuckDB";
  if (example.find("sqlite3") != std::string::npos && !has_program("sqlite3")) return "no sqlite3";
  if (example.find("<(") != std::string::npos) return "not for /bin/sh";
  if (example.find("out/run1") != std::string::npos)
    return "two recordings of one plan; together_test has them";
  if (example == "hitproof selftest" || example.find("selftest out/") != std::string::npos)
    return "minutes; the tests of the selftest run it";
  return "";
}

TEST(Examples, DoWhatTheySay) {
  const audit::testing::ScratchDir scratch;
  const std::string home = scratch.path() + "/home", root = scratch.path() + "/work";
  fs::create_directories(home + "/.zfunc");
  fs::create_directories(home + "/.config/fish/completions");
  fs::create_directories(root);
  furnish(root);
  const json tree = json::parse(run_shell("hitproof help --json").out);
  int run = 0;
  for (const json& command : tree["commands"]) {
    if (!command.contains("examples")) continue;
    for (const std::string example : command["examples"]) {
      if (!left_out(command["command"], example).empty()) continue;
      // Keys and statements that are there already are not overwritten.
      const std::string name = command["command"];
      const std::string before = name.ends_with("keygen") ? "rm lab.key*; "
                                 : name.ends_with("sign") ? "rm out/demo/candidate/attestation*; "
                                                          : "";
      const Ran ran = run_shell("HOME=" + home + "; export HOME; " + before + example, root);
      // 1: a difference or a finding, which the examples' archives have.
      EXPECT_TRUE(ran.exit == 0 || ran.exit == 1) << example << "\n" << ran.out << ran.err;
      EXPECT_EQ(ran.err.find("what to do:"), std::string::npos) << example << "\n" << ran.err;
      ++run;
    }
  }
  EXPECT_GE(run, 25);
}

} // namespace
} // namespace hitproof::cli::testing
