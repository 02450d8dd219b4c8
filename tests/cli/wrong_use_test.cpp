// Every command over bad input: the exit code, a message that names what was wrong, and a line that
// says what to do. The walk over options is made from the program's own tree, so that a new option
// is walked too.
#include "tests/audit/fixture.h"
#include "tests/cli/archives.h"
#include "tests/cli/program.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hitproof::cli::testing {
namespace {

using nlohmann::json;

// Says what a complaint lacks; empty where it is as it must be.
std::string lacks(const Ran& ran, int exit, const std::string& names) {
  std::string wrong;
  if (ran.exit != exit)
    wrong += "exit code " + std::to_string(ran.exit) + ", not " + std::to_string(exit) + "; ";
  if (ran.err.find(names) == std::string::npos) wrong += "stderr does not name " + names + "; ";
  const std::size_t at = ran.err.find("  what to do: ");
  if (at == std::string::npos || ran.err.size() < at + 24)
    wrong += "stderr does not say what to do; ";
  if (ran.err.find("hitproof: ") == std::string::npos) wrong += "no message of the program; ";
  return wrong;
}

void expect_complaint(const std::string& command, int exit, const std::string& names) {
  const Ran ran = run_shell(command);
  EXPECT_EQ(lacks(ran, exit, names), "") << command << "\n" << ran.out << ran.err;
}

json tree() {
  static const json made = json::parse(run_shell("hitproof help --json").out);
  return made;
}

void each_leaf(const json& command, const std::function<void(const json&)>& work) {
  if (command["commands"].empty()) work(command);
  for (const json& below : command["commands"])
    each_leaf(below, work);
}

TEST(WrongUse, TheCheckItselfCanFail) {
  EXPECT_NE(lacks({2, "", "hitproof: no folder x\n"}, 2, "x"), "");
  EXPECT_NE(lacks({2, "", "hitproof: no folder x\n  what to do: name one that is there\n"}, 2, "y"),
            "");
  EXPECT_NE(lacks({0, "", "hitproof: no folder x\n  what to do: name one that is there\n"}, 2, "x"),
            "");
  EXPECT_EQ(lacks({2, "", "hitproof: no folder x\n  what to do: name one that is there\n"}, 2, "x"),
            "");
}

TEST(WrongUse, OptionsThatAreNotThere) {
  int commands = 0;
  each_leaf(tree(), [&](const json& command) {
    expect_complaint(std::string(command["command"]) + " --nonsense", 2, "--nonsense");
    ++commands;
  });
  EXPECT_GE(commands, 15);
  expect_complaint("hitproof --nonsense", 2, "--nonsense");
  expect_complaint("hitproof nonsense", 2, "nonsense");
  expect_complaint("hitproof", 2, "needs a command");
  expect_complaint("hitproof study", 2, "hitproof study needs a command");
  expect_complaint("hitproof study nonsense --out x", 2, "nonsense");
}

TEST(WrongUse, ValuesThatNoOptionTakes) {
  int options = 0;
  each_leaf(tree(), [&](const json& command) {
    // Only parsed: a value that was taken all the same would start a server or a study.
    const std::string path = "hitproof --parse-only" + std::string(command["command"]).substr(8);
    for (const json& option : command["options"]) {
      if (option["value"] == "") continue;
      const std::string name = option["names"].back();
      expect_complaint(path + " " + name, 2, name); // its value is lacking
      const bool number = option["value"] == "N" || option["value"] == "BYTES";
      if (!option["choices"].empty() || number) {
        expect_complaint(path + " " + name + " nonsense", 2, "nonsense");
        ++options;
      }
      if (number) expect_complaint(path + " " + name + " -7", 2, name);
    }
    for (const json& argument : command["arguments"]) {
      if (!argument["choices"].empty()) expect_complaint(path + " nonsense", 2, "nonsense");
    }
  });
  EXPECT_GE(options, 25);
}

TEST(WrongUse, WhatIsRequiredAndNotGiven) {
  int commands = 0;
  each_leaf(tree(), [&](const json& command) {
    std::vector<std::string> required;
    for (const char* part : {"options", "arguments"}) {
      for (const json& one : command[part]) {
        if (one["required"])
          required.push_back(one["names"].empty() ? one["value"] : one["names"].back());
      }
    }
    if (required.empty()) return;
    const Ran ran = run_shell("unset HITPROOF_KEY; " + std::string(command["command"]));
    EXPECT_EQ(lacks(ran, 2, "is required"), "") << command["command"] << "\n" << ran.err;
    bool named = false;
    for (const std::string& name : required)
      named = named || ran.err.find(name) != std::string::npos;
    EXPECT_TRUE(named) << ran.err;
    ++commands;
  });
  EXPECT_GE(commands, 9);
}

struct Bad {
  const char* command;
  int exit;
  const char* names;
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.command; }

const Bad folders[] = {
    // Folders that are none, are empty, are files.
    {"hitproof audit {scratch}/nowhere", 2, "nowhere"},
    {"hitproof audit {scratch}", 2, "{scratch}"},
    {"hitproof audit {file}", 2, "{file}"},
    {"hitproof audit", 2, "folder of an archive"},
    {"hitproof audit --sql nonsense", 2, "nonsense"},
    {"hitproof verify {scratch}/nowhere", 2, "nowhere"},
    {"hitproof verify {scratch}", 2, "{scratch}"},
    {"hitproof verify {file}", 2, "{file}"},
    {"hitproof verify {good} --key {scratch}/nowhere", 2, "nowhere"},
    {"hitproof verify {good} --key {file}", 2, "{file}"},
    {"hitproof inspect {scratch}/nowhere", 2, "nowhere"},
    {"hitproof inspect {scratch}", 2, "{scratch}"},
    {"hitproof inspect {file}", 2, "{file}"},
    {"hitproof diff {good} {scratch}/nowhere", 2, "nowhere"},
    {"hitproof diff {scratch}/nowhere {good}", 2, "nowhere"},
    {"hitproof diff {good} {file}", 2, "{file}"},
    {"hitproof export {scratch}/nowhere", 2, "nowhere"},
    {"hitproof export {good} {scratch}", 2, "{scratch}"},
    {"hitproof export", 2, "archives"},
    {"hitproof export {good} --table nonsense", 2, "nonsense"},
    {"hitproof export {good} --out {file}/x", 2, "{file}"},
    {"hitproof export {good} --format html --out {file}/x", 2, "{file}"},
    {"hitproof export {good} --format csv --json", 2, "--json"},
    {"hitproof export --from {scratch}/nowhere --format csv", 2, "archives"},
    {"hitproof merge --out {scratch}/m.sqlite {scratch}/nowhere", 2, "nowhere"},
    {"hitproof merge --out {scratch}/m.sqlite", 2, "archives"},
    {"hitproof merge --out {scratch}/m.sqlite --from {scratch}/nowhere", 2, "nowhere"},
    {"hitproof merge --out {file}/m.sqlite {good}", 2, "{file}"},
    {"hitproof merge --out {file} {good}", 2, "{file}"},
    {"hitproof selftest {scratch}/nowhere", 2, "nowhere"},
    {"hitproof selftest {scratch}", 2, "{scratch}"},
    {"hitproof selftest --only nonsense", 2, "nonsense"},
    {"hitproof selftest --blind nonsense --only keys", 2, "nonsense"},
    {"hitproof keygen --out {file}", 2, "{file}"},
    {"hitproof keygen --out {scratch}/nowhere/k", 2, "nowhere"},
    {"hitproof sign {good} --key {scratch}/nowhere", 2, "nowhere"},
    {"hitproof sign {good} --key {file}", 2, "{file}"},
    {"hitproof sign {scratch}/nowhere --key {key}", 2, "nowhere"},
    {"hitproof sign {scratch} --key {key}", 2, "{scratch}"},
    {"hitproof run --out {good} -- true", 2, "{good}"},
    {"hitproof run --out {file}/x -- true", 2, "{file}"},
    {"hitproof run --out {scratch}/r -- {scratch}/nowhere", 2, "nowhere"},
    {"hitproof run --out {scratch}/r --cross-check -- true", 2, "--cross-check"},
    {"hitproof study boundary --preset micro --out {file}/x", 2, "{file}"},
    {"hitproof study boundary --preset micro --lengths 0 --out {scratch}/s", 2, "0"},
    {"hitproof study boundary --preset micro --arms candidate --reference {scratch}/nowhere --out "
     "{scratch}/s",
     2, "nowhere"},
    {"hitproof demo --out {good}", 2, "{good}"},
    {"hitproof help boundary", 2, "boundary"},
    {"hitproof help audit verify", 2, "verify"},
    // Archives that are not what was written.
    {"hitproof audit {damaged}", 4, "plan.toml"},
    {"hitproof audit {lost}", 4, "recording.sqlite"},
    {"hitproof audit {garbage}", 4, "recording.sqlite"},
    {"hitproof inspect {garbage}", 4, "recording.sqlite"},
    {"hitproof export {damaged}", 4, "plan.toml"},
    {"hitproof diff {good} {damaged}", 4, "plan.toml"},
    {"hitproof sign {damaged} --key {key}", 4, "plan.toml"},
    {"hitproof merge --out {scratch}/m.sqlite {damaged}", 4, "plan.toml"},
    {"hitproof selftest {damaged}", 4, "{damaged}"},
    {"hitproof sign {open} --key {key}", 2, "{open}"},
    {"hitproof merge --out {scratch}/m.sqlite {open}", 3, "{open}"},
    {"hitproof audit {newer}", 2, "99"},
    {"hitproof inspect {newer}", 2, "99"},
    {"hitproof export {newer}", 2, "99"},
    {"hitproof merge --out {scratch}/m.sqlite {newer}", 2, "99"},
    {"hitproof selftest {full}", 2, "not a good archive"},
};

class WrongInput : public ::testing::TestWithParam<Bad> {
 protected:
  static const std::map<std::string, std::string>& archives() {
    static const audit::testing::ScratchDir root;
    static const std::map<std::string, std::string> made = [] {
      auto places = make_archives(root.path());
      places["file"] = root.path() + "/a-file";
      std::ofstream(places["file"]) << "not what is wanted here\n";
      places["key"] = root.path() + "/a-key";
      EXPECT_EQ(run_shell("hitproof keygen --out " + places["key"]).exit, 0);
      return places;
    }();
    return made;
  }
  std::string filled(std::string text) const {
    auto places = archives();
    places["scratch"] = scratch_.path();
    for (const auto& [name, path] : places) {
      const std::string what = "{" + name + "}";
      for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what))
        text.replace(at, what.size(), path);
    }
    return text;
  }
  audit::testing::ScratchDir scratch_;
};

// With --quiet and --json too: a problem is always told, and stdout holds no half document.
TEST_P(WrongInput, IsRefusedWithAReasonAndARemedy) {
  const std::string command = filled(GetParam().command), names = filled(GetParam().names);
  expect_complaint(command, GetParam().exit, names);
  const std::size_t at = command.find(" -- ");
  std::string quiet = command;
  quiet.insert(at == std::string::npos ? quiet.size() : at, " --quiet");
  const Ran ran = run_shell(quiet);
  // A recording or key of the first run may be in the way of the second.
  EXPECT_EQ(lacks(ran, GetParam().exit, ""), "") << quiet << "\n" << ran.err;
}

INSTANTIATE_TEST_SUITE_P(Every, WrongInput, ::testing::ValuesIn(folders), [](const auto& instance) {
  std::string name = std::string(instance.param.command).substr(9);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name.substr(0, 40) + "_" + std::to_string(instance.index);
});

} // namespace
} // namespace hitproof::cli::testing
