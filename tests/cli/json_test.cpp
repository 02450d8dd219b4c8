// --json of every command against its schema in docs/json: one document on stdout, and nothing else
// there.
#include "tests/audit/fixture.h"
#include "tests/cli/archives.h"
#include "tests/cli/json_schema.h"
#include "tests/cli/program.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <set>

namespace hitproof::cli::testing {
namespace {

using nlohmann::json;

struct Asked {
  std::string schema, command;
  std::set<int> exits = {0};
};

void PrintTo(const Asked& asked, std::ostream* out) { *out << asked.command; }

const Schemas& schemas() {
  static const Schemas read(HITPROOF_SOURCE_DIR "/docs/json");
  return read;
}

const std::map<std::string, std::string>& archives() {
  static const audit::testing::ScratchDir root;
  static const std::map<std::string, std::string> made = make_archives(root.path());
  return made;
}

std::string filled(std::string command, const std::string& scratch) {
  auto places = archives();
  places["scratch"] = scratch;
  for (const auto& [name, path] : places) {
    const std::string what = "{" + name + "}";
    for (std::size_t at = command.find(what); at != std::string::npos; at = command.find(what))
      command.replace(at, what.size(), path);
  }
  return command;
}

const std::vector<Asked> all_asked = {
    {"audit", "hitproof audit {good} --json"},
    {"audit", "hitproof audit {short} --json", {1}},
    {"audit", "hitproof audit {full} --json", {1}},
    {"audit", "hitproof audit {metadata} --json", {3}},
    {"audit", "hitproof audit {damaged} --despite-damage --json", {1}},
    {"audit", "hitproof audit {escape} --json", {1, 3}},
    {"audit", "hitproof audit --sql pages --json"},
    {"verify", "hitproof verify {good} --json"},
    {"verify", "hitproof verify {damaged} --json", {4}},
    {"verify", "hitproof verify {open} --json", {3}},
    {"keygen", "hitproof keygen --out {scratch}/k --json"},
    {"sign", "cp -r {good} {scratch}/a && hitproof keygen --out {scratch}/k >/dev/null && hitproof "
             "sign {scratch}/a --key {scratch}/k --json"},
    {"verify", "cp -r {good} {scratch}/a && hitproof keygen --out {scratch}/k >/dev/null && "
               "hitproof sign {scratch}/a --key {scratch}/k >/dev/null && hitproof verify "
               "{scratch}/a --key {scratch}/k.pub --json"},
    {"inspect", "hitproof inspect {good} --json"},
    {"inspect", "hitproof inspect {open} --json"},
    {"diff", "hitproof diff {good} {good} --json"},
    {"diff", "hitproof diff {good} {short} --json", {1}},
    {"export", "hitproof export {good} --json"},
    {"export", "hitproof export {good} {full} --format json"},
    {"export", "hitproof export {short} --format html --out {scratch}/page --json"},
    {"export", "hitproof export {good} --out {scratch}/tables --json"},
    {"merge", "hitproof merge {good} {full} --audit --out {scratch}/fleet.sqlite --json"},
    {"merge", "hitproof merge {damaged} {good} --out {scratch}/fleet.sqlite --json", {4}},
    {"selftest", "hitproof selftest --only keys --json"},
    {"selftest", "hitproof selftest --only keys --blind keys.one_key_two_contents --json", {1}},
    {"selftest", "hitproof selftest --list --json"},
    {"completion", "hitproof completion zsh --json"},
    {"help", "hitproof help --json"},
    {"help", "hitproof help study boundary --json"},
    {"help", "hitproof help --man --json"},
    {"run", "hitproof run --out {scratch}/r --json -- sh -c 'echo hello; exit 5'", {5}},
    {"run", "hitproof run --out {scratch}/r --probes off --json -- sh -c 'kill -9 $$'", {137}},
    {"study",
     "hitproof study boundary --preset micro --lengths 255,256 --tokens 4 --save-delay-ms "
     "20 --out {scratch}/s --json --quiet",
     {0, 1, 3}},
    {"study",
     "hitproof study performance --preset micro --lengths 255 --tokens 2 --trials 1 --warmups 0 "
     "--repetitions 2 --out {scratch}/times --json --quiet",
     {3}},
    // The second repetition cannot begin: the first is not lost with it.
    {"study",
     "mkdir -p {scratch}/t/run-2/control {scratch}/t/run-2/candidate; touch "
     "{scratch}/t/run-2/control/mine {scratch}/t/run-2/candidate/mine; hitproof study performance "
     "--preset micro --lengths 255 --tokens 2 --trials 1 --warmups 0 --repetitions 2 --out "
     "{scratch}/t --json --quiet",
     {2}},
    // Asked to end as soon as it has said where it listens.
    {"serve", "hitproof serve --preset micro --json --quiet > {scratch}/said & server=$!; for i in "
              "$(seq 600); do grep -q url {scratch}/said && break; sleep 0.1; done; cat "
              "{scratch}/said; kill $server; wait $server"},
};

class JsonTest : public ::testing::TestWithParam<Asked> {};

TEST_P(JsonTest, IsWhatItsSchemaSays) {
  const audit::testing::ScratchDir scratch;
  const Ran ran = run_shell(filled(GetParam().command, scratch.path()));
  EXPECT_TRUE(GetParam().exits.contains(ran.exit)) << ran.exit << "\n" << ran.err;
  json document;
  ASSERT_NO_THROW(document = json::parse(ran.out)) << ran.out << "\n" << ran.err;
  for (const std::string& wrong : schemas().complaints(GetParam().schema, document))
    ADD_FAILURE() << wrong;
  // The control: the same document without one of its keys, and with one too many.
  json lacking = document, more = document;
  lacking.erase(lacking.begin());
  EXPECT_FALSE(schemas().complaints(GetParam().schema, lacking).empty());
  more["not in the schema"] = "x";
  EXPECT_FALSE(schemas().complaints(GetParam().schema, more).empty());
}

INSTANTIATE_TEST_SUITE_P(Every, JsonTest, ::testing::ValuesIn(all_asked), [](const auto& instance) {
  return instance.param.schema + "_" + std::to_string(instance.index);
});

TEST(Json, EveryCommandHasItsSchemaAndIsAsked) {
  const json tree = json::parse(run_shell("hitproof help --json").out);
  std::set<std::string> commands, asked;
  for (const json& command : tree["commands"]) {
    const std::string path = command["command"];
    commands.insert(path.substr(path.find(' ') + 1));
    const bool takes =
        std::any_of(command["options"].begin(), command["options"].end(),
                    [](const json& option) { return option["names"] == json::array({"--json"}); });
    EXPECT_TRUE(takes) << path << " has no --json";
  }
  const auto names = schemas().names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), commands);
  for (const Asked& one : all_asked)
    asked.insert(one.schema);
  commands.erase("demo"); // minutes; its parts are two audits
  EXPECT_EQ(asked, commands);
}

TEST(Json, ADemoIsTwoAuditsAndTheBrokenEngines) {
  const json report = json::parse(run_shell(filled("hitproof audit {good} --json", "")).out);
  json demo = {{"verdict", "pass"}, {"candidate", report}, {"full", report}};
  demo["broken"] = json::array();
  demo["wrong"] = json::array();
  EXPECT_TRUE(schemas().complaints("demo", demo).empty());
  demo["full"].erase("sentence");
  EXPECT_FALSE(schemas().complaints("demo", demo).empty());
}

TEST(Json, NothingIsOnStdoutWhereThereIsNoAnswer) {
  for (const char* command : {"hitproof audit /nowhere --json", "hitproof inspect /nowhere --json",
                              "hitproof export /nowhere --json", "hitproof audit --json --loud",
                              "hitproof run --out /proc/x --json -- true"}) {
    const Ran ran = run_shell(command);
    EXPECT_EQ(ran.exit, 2) << command;
    EXPECT_EQ(ran.out, "") << command;
    EXPECT_NE(ran.err.find("what to do: "), std::string::npos) << command << "\n" << ran.err;
  }
}

TEST(Json, WhatAProgramPrintsGoesToStderr) {
  const audit::testing::ScratchDir scratch;
  const Ran ran = run_shell("hitproof run --out " + scratch.path() + "/r --json -- echo hello");
  EXPECT_NE(ran.err.find("hello\n"), std::string::npos) << ran.err;
}

} // namespace
} // namespace hitproof::cli::testing
