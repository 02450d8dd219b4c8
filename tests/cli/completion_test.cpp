// Completions: asked of the shells themselves.
#include "audit/selftest/scratch.h"
#include "schema/shell_word.h"
#include "tests/cli/program.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hitproof::cli::testing {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class CompletionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* shell : {"bash", "zsh", "fish"}) {
      const Ran ran = run_shell(std::string("hitproof completion ") + shell);
      ASSERT_EQ(ran.exit, 0) << ran.err;
      std::ofstream(script(shell)) << ran.out;
    }
    fs::create_directories(folder() + "/runs/monday");
    fs::create_directories(folder() + "/with space");
    std::ofstream(folder() + "/lab.key") << "x";
  }

  std::string folder() const { return scratch_.path(); }
  std::string script(const std::string& shell) const { return folder() + "/." + shell; }

  // What bash offers where the cursor stands behind the last of `words`.
  Words in_bash(const Words& words) const {
    std::string list;
    for (const std::string& word : words)
      list += " " + schema::shell_word(word);
    const std::string program = "source .bash\nCOMP_WORDS=(" + list +
                                ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) +
                                "\n_hitproof hitproof\n"
                                "for word in \"${COMPREPLY[@]}\"; do echo \"$word\"; done\n";
    const Ran ran =
        run_shell("bash --norc --noprofile -c " + schema::shell_word(program), folder());
    EXPECT_EQ(ran.err, "");
    Words offered = lines_of(ran.out);
    std::sort(offered.begin(), offered.end());
    return offered;
  }

  Words in_fish(const std::string& line) const {
    const Ran ran =
        run_shell("HOME=$PWD fish --no-config -c " +
                      schema::shell_word("source .fish; complete -C " + schema::shell_word(line)),
                  folder());
    EXPECT_EQ(ran.err, "");
    Words offered = lines_of(ran.out);
    for (std::string& word : offered)
      word = word.substr(0, word.find('\t'));
    std::sort(offered.begin(), offered.end());
    return offered;
  }

  // What zsh's own completion lists for a line, in a terminal of its own (zpty), as soon as
  // `expected` is among it.
  std::string in_zsh(const std::string& line, const std::string& expected) const {
    std::ofstream(folder() + "/ask.zsh")
        << "zmodload zsh/zpty\n"
           "zpty -b shell zsh -f -i\n"
           "zpty -w shell 'PS1=ready; autoload -Uz compinit; compinit -u -D; source ./.zsh; "
           "LISTMAX=10000; bindkey \"^I\" list-choices; stty cols 400; echo set\"\"tled'\n"
           "zpty -r -m shell text '*settled*'\n"
           "zpty -w -n shell " +
               schema::shell_word(line) + "$'\\t'\nzpty -r -m shell text '*" + expected +
               "*'\nprint -r -- \"$text\"\n"
               "sleep 0.5\n"
               "zpty -w -n shell $'\\C-a# \\C-e end-of-list\\n'\n"
               "zpty -r -m shell text '*end-of-list*'\n"
               "print -r -- \"$text\"\nzpty -d shell\n";
    return run_shell("timeout 30 zsh -f ask.zsh", folder()).out;
  }

 private:
  audit::selftest::ScratchDir scratch_{"hitproof-completion"};
};

TEST_F(CompletionTest, BashKnowsCommandsAndOptions) {
  EXPECT_EQ(in_bash({"hitproof", "in"}), Words{"inspect"});
  EXPECT_EQ(in_bash({"hitproof", "s"}), (Words{"selftest", "serve", "sign", "study"}));
  EXPECT_EQ(in_bash({"hitproof", "study", ""}), (Words{"boundary", "continuation", "performance"}));
  EXPECT_EQ(in_bash({"hitproof", "--v"}), Words{"--version"});
  EXPECT_EQ(in_bash({"hitproof", "sign", "--k"}), Words{"--key"});
  EXPECT_EQ(in_bash({"hitproof", "study", "boundary", "--q"}), Words{"--quiet"});
  EXPECT_EQ(in_bash({"hitproof", "audit", "--tail"}), Words{});
}

// Every option that the program knows is offered, and no other.
TEST_F(CompletionTest, BashKnowsEveryOption) {
  const auto tree = nlohmann::json::parse(run_shell("hitproof help --json").out);
  int asked = 0;
  const auto ask = [&](const auto& again, const nlohmann::json& command) -> void {
    Words words = {""}, expected;
    for (const char c : std::string(command["command"])) {
      if (c == ' ')
        words.emplace_back();
      else
        words.back() += c;
    }
    words.emplace_back("-");
    for (const auto& option : command["options"]) {
      for (const std::string name : option["names"])
        expected.push_back(name);
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(in_bash(words), expected) << command["command"];
    ++asked;
    for (const auto& below : command["commands"])
      again(again, below);
  };
  ask(ask, tree);
  EXPECT_GE(asked, 16);
}

TEST_F(CompletionTest, BashKnowsValues) {
  EXPECT_EQ(in_bash({"hitproof", "export", "--format", "p"}),
            (Words{"parquet", "pdf", "perfetto"}));
  EXPECT_EQ(in_bash({"hitproof", "export", "--format", "=", "par"}), Words{"parquet"});
  EXPECT_EQ(in_bash({"hitproof", "run", "--probes", "d"}), Words{"digests"});
  EXPECT_EQ(in_bash({"hitproof", "study", "boundary", "--break", "save-"}),
            (Words{"save-no-producer-wait", "save-no-wait"}));
  EXPECT_EQ(in_bash({"hitproof", "serve", "--preset", ""}), (Words{"micro", "paper", "tiny"}));
  EXPECT_EQ(in_bash({"hitproof", "diff", "a", "b", "--only", "verdicts,fi"}),
            (Words{"verdicts,figures", "verdicts,findings"}));
  EXPECT_EQ(in_bash({"hitproof", "completion", "z"}), Words{"zsh"});
  EXPECT_EQ(in_bash({"hitproof", "study", "boundary", "--tokens", ""}), Words{});
}

TEST_F(CompletionTest, BashKnowsFoldersAndFiles) {
  EXPECT_EQ(in_bash({"hitproof", "audit", "r"}), Words{"runs"});
  EXPECT_EQ(in_bash({"hitproof", "audit", "w"}), Words{"with space"});
  EXPECT_EQ(in_bash({"hitproof", "export", "runs/m"}), Words{"runs/monday"});
  EXPECT_EQ(in_bash({"hitproof", "audit", "l"}), Words{}); // a file is no archive
  EXPECT_EQ(in_bash({"hitproof", "sign", "runs", "--key", "l"}), Words{"lab.key"});
  const Words programs = in_bash({"hitproof", "run", "--out", "o", "--", "sha256su"});
  EXPECT_NE(std::find(programs.begin(), programs.end(), "sha256sum"), programs.end());
  EXPECT_EQ(in_bash({"hitproof", "run", "--out", "o", "--", "cat", "lab"}), Words{"lab.key"});
}

TEST_F(CompletionTest, OtherShellsReadTheirScripts) {
  int shells = 0;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    if (!has_program(shell)) continue;
    ++shells;
    const Ran ran = run_shell(std::string(shell) + " -n " + script(shell));
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    // The control: a script that is cut in the middle is seen.
    const std::string cut = folder() + "/cut." + shell;
    const std::string text = file_contents(script(shell));
    std::ofstream(cut) << text.substr(0, text.size() / 2) << "\nif (( $(\n";
    EXPECT_NE(run_shell(std::string(shell) + " -n " + cut).exit, 0) << shell;
  }
  if (shells < 3) GTEST_SKIP() << shells << " of bash, zsh and fish are on this machine";
}

TEST_F(CompletionTest, FishAnswers) {
  if (!has_program("fish")) GTEST_SKIP() << "no fish on this machine";
  EXPECT_EQ(in_fish("hitproof insp"), Words{"inspect"});
  EXPECT_EQ(in_fish("hitproof study "), (Words{"boundary", "continuation", "performance"}));
  EXPECT_EQ(in_fish("hitproof export --format p"), (Words{"parquet", "pdf", "perfetto"}));
  EXPECT_EQ(in_fish("hitproof study boundary --break save-"),
            (Words{"save-no-producer-wait", "save-no-wait"}));
  EXPECT_EQ(in_fish("hitproof study boundary --qu"), Words{"--quiet"});
  EXPECT_EQ(in_fish("hitproof audit ru"), Words{"runs/"});
  EXPECT_EQ(in_fish("hitproof run --out o -- sha256su"), Words{"sha256sum"});
  EXPECT_EQ(in_fish("hitproof audit --tail"), Words{});
}

TEST_F(CompletionTest, ZshAnswers) {
  if (!has_program("zsh")) GTEST_SKIP() << "no zsh on this machine";
  const auto has = [](const std::string& text, const std::string& word) {
    return text.find(word) != std::string::npos;
  };
  const std::string formats = in_zsh("hitproof export --format ", "junit");
  EXPECT_TRUE(has(formats, "perfetto") && has(formats, "junit")) << formats;
  const std::string breaks = in_zsh("hitproof study boundary --break ", "save-no-producer-wait");
  EXPECT_TRUE(has(breaks, "save-no-producer-wait")) << breaks;
  const std::string options = in_zsh("hitproof verify --", "--key");
  EXPECT_TRUE(has(options, "--key") && has(options, "--quiet")) << options;
  EXPECT_FALSE(has(options, "--format")) << options;
}

} // namespace
} // namespace hitproof::cli::testing
