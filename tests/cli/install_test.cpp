// cmake --install: everything lies where it is looked for, and works from there.
#include "audit/selftest/scratch.h"
#include "tests/cli/program.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace hitproof::cli::testing {
namespace {

namespace fs = std::filesystem;

class InstallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(HITPROOF_BIN_DIR "/hitproof-engine"))
      GTEST_SKIP() << "the programs are not built (cmake --build --target installable)";
    const Ran ran =
        run_shell(HITPROOF_CMAKE " --install " HITPROOF_BUILD_DIR " --prefix " + prefix());
    ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  }
  std::string prefix() const { return scratch_.path() + "/usr"; }
  std::string program() const { return prefix() + "/bin/hitproof"; }

 private:
  audit::selftest::ScratchDir scratch_{"hitproof-install"};
};

TEST_F(InstallTest, EverythingLiesInItsPlace) {
  for (const char* file :
       {"bin/hitproof", "bin/hitproof-engine", "lib/hitproof/libhitproof.so",
        "lib/hitproof/libhitproof_matmul.so", "lib/hitproof/sim/libcuda.so.1",
        "lib/hitproof/sim/libcudart.so.13", "include/hitproof.h", "share/man/man1/hitproof.1",
        "share/bash-completion/completions/hitproof", "share/zsh/site-functions/_hitproof",
        "share/fish/vendor_completions.d/hitproof.fish", "share/doc/hitproof/README.md",
        "share/doc/hitproof/docs/commands.md", "share/doc/hitproof/docs/json/audit.schema.json"})
    EXPECT_TRUE(fs::exists(prefix() + "/" + file)) << file;
  // Tests and tools of the build stay behind.
  for (const auto& item : fs::directory_iterator(prefix() + "/bin"))
    EXPECT_TRUE(item.path().filename() == "hitproof" || item.path().filename() == "hitproof-engine")
        << item.path();
}

TEST_F(InstallTest, CompletionsAreWhatTheProgramPrints) {
  for (const auto& [shell, file] :
       {std::pair<std::string, std::string>{"bash", "share/bash-completion/completions/hitproof"},
        {"zsh", "share/zsh/site-functions/_hitproof"},
        {"fish", "share/fish/vendor_completions.d/hitproof.fish"}}) {
    const Ran ran = run_shell(program() + " completion " + shell);
    EXPECT_EQ(file_contents(prefix() + "/" + file), ran.out) << shell;
    EXPECT_GT(ran.out.size(), 2000U);
  }
}

// The probe, the engine and the simulated libraries are found beside the installed program.
TEST_F(InstallTest, TheInstalledProgramsWork) {
  const std::string out = prefix() + "/recorded";
  const Ran recorded = run_shell(program() + " run --out " + out + " -- /bin/echo hello");
  EXPECT_EQ(recorded.exit, 0) << recorded.err;
  EXPECT_EQ(recorded.out, "hello\n");
  const Ran inspected = run_shell(program() + " inspect " + out + " --json");
  EXPECT_NE(inspected.out.find("\"exe\": \"echo\""), std::string::npos)
      << "no probe in the program: " << inspected.out;
  const Ran study = run_shell(program() +
                              " study boundary --preset micro --lengths 255 --tokens 2 "
                              "--save-delay-ms 20 --quiet --json --out " +
                              prefix() + "/study");
  EXPECT_TRUE(study.exit == 0 || study.exit == 3) << study.exit << study.err;
  EXPECT_NE(study.out.find("\"device\": \"sim\""), std::string::npos) << study.out << study.err;
}

} // namespace
} // namespace hitproof::cli::testing
