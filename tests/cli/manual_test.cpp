// The manual against the program: what is committed is what it prints, every option and variable is
// there, and its examples are commands.
#include "tests/cli/program.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

namespace hitproof::cli::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string house = HITPROOF_SOURCE_DIR;
const std::string commands_page = house + "/docs/commands.md",
                  man_page = house + "/docs/hitproof.1";

std::string printed(const std::string& command) {
  const Ran ran = run_shell(command);
  EXPECT_EQ(ran.exit, 0) << command << "\n" << ran.err;
  EXPECT_EQ(ran.err, "") << command;
  return ran.out;
}

// Empty where both are the same, else the first line that is not.
std::string difference(const std::string& committed, const std::string& made) {
  const auto a = lines_of(committed), b = lines_of(made);
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string left = i < a.size() ? a[i] : "(end)", right = i < b.size() ? b[i] : "(end)";
    if (left != right)
      return "line " + std::to_string(i + 1) + ": committed '" + left + "', printed '" + right +
             "'";
  }
  return committed == made ? "" : "the ends of lines differ";
}

void expect_committed(const std::string& path, const std::string& command) {
  const std::string made = printed(command), committed = file_contents(path);
  ASSERT_GT(made.size(), 4000U);
  EXPECT_EQ(difference(committed, made), "") << path << ": make docs writes it anew";
  // The control: a word changed in the program, or in the document, must not go unseen.
  for (const std::string word : {"residue", "journals", "poison", "archive"}) {
    std::string changed = made;
    const std::size_t at = changed.find(word);
    if (at == std::string::npos) continue;
    changed.replace(at, word.size(), "something");
    EXPECT_NE(difference(committed, changed), "") << word;
    return;
  }
  ADD_FAILURE() << "no word to change in what " << command << " prints";
}

TEST(Manual, TheCommandsPageIsWhatTheProgramPrints) {
  expect_committed(commands_page, "hitproof help --markdown");
}

TEST(Manual, TheManPageIsWhatTheProgramPrints) {
  expect_committed(man_page, "hitproof help --man");
}

json tree() {
  static const json made = json::parse(printed("hitproof help --json"));
  return made;
}

void each_command(const json& command, const std::function<void(const json&)>& work) {
  work(command);
  for (const json& below : command["commands"])
    each_command(below, work);
}

std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

// The rows "| `--option VALUE` | words |" of one command's section of the page.
std::vector<std::string> rows_of(const std::string& path) {
  static const std::regex row(R"(^\| `([^`]*)` \| (.*) \|$)");
  std::vector<std::string> rows;
  bool inside = false;
  for (const std::string& line : lines_of(file_contents(commands_page))) {
    if (line.starts_with("## ")) inside = line == "## " + path;
    std::smatch match;
    if (inside && std::regex_match(line, match, row))
      rows.push_back(match[1].str() + " " + unescaped(match[2]));
  }
  return rows;
}

TEST(Manual, HelpAndPageAreTheSameWords) {
  int options = 0;
  each_command(tree(), [&](const json& command) {
    const std::string path = command["command"];
    const std::string help = squeezed(printed(path + " --help"));
    EXPECT_NE(help.find(command["summary"]), std::string::npos) << path;
    EXPECT_EQ(help, squeezed(printed("hitproof help " +
                                     path.substr(std::min<std::size_t>(path.size(), 9)))));
    if (path == "hitproof") return;
    const auto rows = rows_of(path);
    EXPECT_EQ(rows.size(), command["options"].size() + command["arguments"].size()) << path;
    for (const std::string& row : rows) {
      EXPECT_NE(help.find(squeezed(row)), std::string::npos) << path << " --help lacks: " << row;
      ++options;
    }
  });
  EXPECT_GT(options, 80);
}

std::vector<std::string> sources(const std::vector<std::string>& rooms) {
  std::vector<std::string> texts;
  for (const std::string& room : rooms) {
    for (const auto& item : fs::recursive_directory_iterator(house + "/" + room)) {
      const std::string kind = item.path().extension();
      if (kind == ".cpp" || kind == ".h" || kind == ".cu")
        texts.push_back(file_contents(item.path()));
    }
  }
  return texts;
}

std::set<std::string> named(const std::vector<std::string>& texts, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> names;
  for (const std::string& text : texts) {
    for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
      names.insert((*at)[1]);
  }
  return names;
}

// From the sources, not from the tree that the page is made of.
TEST(Manual, EveryOptionOfTheSourcesIsThere) {
  const auto options = named(sources({"cli"}), R"re(add_(?:option|flag)\(\s*"(--[a-z-]+)")re");
  EXPECT_GT(options.size(), 30U);
  const std::set<std::string> aids = {"--force-drop", "--other-engine", "--parse-only"};
  for (const std::string& path : {commands_page, man_page}) {
    std::string text = file_contents(path);
    if (path == man_page) text = std::regex_replace(text, std::regex(R"(\\-)"), "-");
    for (const std::string& option : options) {
      const bool there = std::regex_search(text, std::regex(option + "\\b"));
      EXPECT_EQ(there, !aids.contains(option)) << option << " in " << path;
    }
  }
}

TEST(Manual, EveryVariableThatTheCodeReadsIsThere) {
  const auto texts = sources({"schema", "kernels", "poison", "probes", "engine", "audit", "cli"});
  auto read = named(texts, R"re("(HITPROOF_[A-Z_]+[A-Z])")re");
  EXPECT_GE(read.size(), 14U);
  for (const std::string& other : named(texts, R"re(getenv\("([A-Z_]+)"\))re"))
    read.insert(other);
  const std::string text = file_contents(man_page);
  const std::size_t from = text.find(".SH ENVIRONMENT"), to = text.find(".SH FILES");
  ASSERT_LT(from, to);
  const auto said = named({text.substr(from, to - from)}, R"re(\.TP\n\\fB([A-Z_]+)\\fP)re");
  for (const std::string& variable : read)
    EXPECT_TRUE(said.contains(variable)) << variable << " is read and not documented";
  for (const std::string& variable : said) {
    const bool other = !variable.starts_with("HITPROOF_");
    EXPECT_TRUE(other || read.contains(variable)) << variable << " is documented and not read";
  }
}

TEST(Manual, TheExitCodesOfTheReadmeAreThoseOfTheHelp) {
  const std::string help = squeezed(printed("hitproof --help"));
  const std::size_t at = help.find("Exit codes: ");
  ASSERT_NE(at, std::string::npos);
  const std::string line = help.substr(at);
  EXPECT_NE(squeezed(file_contents(house + "/README.md")).find(line), std::string::npos) << line;
}

// The command with --parse-only and its variables, without what feeds it and what takes its output.
std::string parsed(const std::string& example) {
  const std::size_t at = example.find("hitproof ");
  if (at == std::string::npos) return "";
  const std::size_t equals = example.find('=');
  std::string command = equals < at ? example : example.substr(at);
  command.insert(command.find("hitproof ") + 9, "--parse-only ");
  return command.substr(0, std::min({command.find(" | "), command.find(" > "), command.find(')')}));
}

TEST(Manual, ExamplesAreCommandsThatTheProgramTakes) {
  int examples = 0;
  each_command(tree(), [&](const json& command) {
    if (!command["commands"].empty()) return;
    EXPECT_FALSE(command["examples"].empty()) << command["command"];
    for (const std::string example : command["examples"]) {
      const std::string line = parsed(example);
      if (line.empty()) continue;
      const Ran ran = run_shell(line);
      EXPECT_EQ(ran.exit, 0) << example << "\n" << ran.err;
      ++examples;
    }
  });
  EXPECT_GT(examples, 30);
  // The control: an option that is not there is seen.
  EXPECT_EQ(run_shell("hitproof --parse-only audit out/mine --loud").exit, 2);
  EXPECT_EQ(run_shell("hitproof --parse-only export out/mine --format docx").exit, 2);
}

TEST(Manual, RoffIsClean) {
  if (!has_program("groff") && !has_program("mandoc"))
    GTEST_SKIP() << "neither groff nor mandoc on this machine";
  if (has_program("groff")) {
    const Ran ran = run_shell("groff -man -Tutf8 -ww " + man_page);
    EXPECT_EQ(ran.exit, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_GT(ran.out.size(), 10000U);
  }
  if (has_program("mandoc")) {
    const Ran ran = run_shell("mandoc -Tlint " + man_page);
    EXPECT_EQ(ran.exit, 0);
    EXPECT_EQ(ran.out + ran.err, "");
  }
  // The control: a request that is none is seen by whichever is here.
  const std::string spoiled =
      "sed 's/^.SH FILES/.XX FILES/' " + man_page + " > $TMPDIR/p.1; " +
      (has_program("groff") ? "groff -man -Tutf8 -ww $TMPDIR/p.1 2>&1 >/dev/null"
                            : "mandoc -Tlint $TMPDIR/p.1");
  const Ran seen = run_shell("TMPDIR=$(mktemp -d); " + spoiled + "; rm -r $TMPDIR");
  EXPECT_NE(seen.out.find("XX"), std::string::npos) << seen.out;
}

} // namespace
} // namespace hitproof::cli::testing
