// A GPU that is too old, none at all, and a driver that is older than the runtime: named before
// anything is started, with what to do. No GPU is needed: the answers are those of fake_gpu.cpp.
#include "schema/shell_word.h"
#include "tests/audit/fixture.h"
#include "tests/cli/program.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::cli::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Ran with_gpu(const std::string& fake, const std::string& command) {
  return run_shell("FAKE_GPU='" + fake + "' LD_PRELOAD=" HITPROOF_FAKE_GPU " " + command);
}

constexpr const char* describe = "hitproof-engine describe --preset micro --device cuda --gpus 0";

const auto too_old = AllOf(HasSubstr("GPU 0 (Fake of a GPU) is of compute capability 7.5"),
                           HasSubstr("the kernels need 8.0 or later"), HasSubstr("--gpus"),
                           HasSubstr("or use --device sim, which needs no GPU"));
const auto older_driver =
    AllOf(HasSubstr("the driver is older than the CUDA runtime: it serves CUDA 12.4, the runtime "
                    "is 13.0"),
          HasSubstr("install a driver for CUDA 13.0 or later"),
          HasSubstr("or use --device sim, which needs no GPU"));
const auto no_driver = AllOf(HasSubstr("no NVIDIA driver is installed here"),
                             HasSubstr("or use --device sim, which needs no GPU"));

const auto no_gpu = AllOf(HasSubstr("no GPU is to be seen here ("),
                          HasSubstr("look at nvidia-smi and CUDA_VISIBLE_DEVICES"),
                          HasSubstr("or use --device sim, which needs no GPU"));

class OldGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const Ran ran = with_gpu("13000 13000 90", describe);
    if (ran.err.find("is the simulated one") != std::string::npos)
      GTEST_SKIP() << "this build has the simulated CUDA runtime alone";
  }
};

// The control of every other test: what is new enough is not complained about.
TEST_F(OldGpu, WhatIsNewEnoughIsNotNamed) {
  for (const char* fake : {"13000 13000 80", "13020 13000 90", "13000 13020 120"}) {
    const Ran ran = with_gpu(fake, describe);
    EXPECT_THAT(ran.err, Not(HasSubstr("compute capability"))) << fake;
    EXPECT_THAT(ran.err, Not(HasSubstr("driver"))) << fake;
  }
}

TEST_F(OldGpu, TheEngineRefusesAnOldGpu) {
  const Ran ran = with_gpu("13000 13000 75", describe);
  EXPECT_EQ(ran.exit, 2);
  EXPECT_THAT(ran.err, too_old);
}

TEST_F(OldGpu, TheEngineRefusesADriverOlderThanTheRuntime) {
  const Ran ran = with_gpu("13000 12040 90", describe);
  EXPECT_EQ(ran.exit, 2);
  EXPECT_THAT(ran.err, older_driver);
}

TEST_F(OldGpu, TheEngineRefusesAMachineWithoutADriver) {
  const Ran ran = with_gpu("13000 0 90", describe);
  EXPECT_EQ(ran.exit, 2);
  EXPECT_THAT(ran.err, no_driver);
}

// A driver is there and shows none: the container was given none, or CUDA_VISIBLE_DEVICES hides
// all.
TEST_F(OldGpu, TheEngineRefusesAMachineWhoseDriverShowsNoGpu) {
  const Ran none = with_gpu("13000 13000 90 0", describe);
  EXPECT_EQ(none.exit, 2);
  EXPECT_THAT(none.err, AllOf(no_gpu, HasSubstr("(cudaGetDeviceCount says 0)")));
  const Ran refused = with_gpu("13000 13000 90 -100", describe);
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, AllOf(no_gpu, Not(HasSubstr("says 0"))));
}

TEST_F(OldGpu, AStudyAsksBeforeItStartsAnything) {
  audit::testing::ScratchDir folder;
  struct Case {
    const char* fake;
    ::testing::Matcher<const std::string&> says;
  };
  for (const Case& c : {Case{"13000 13000 75", too_old}, Case{"13000 12040 90", older_driver},
                        Case{"13000 0 90", no_driver}, Case{"13000 13000 90 0", no_gpu}}) {
    const std::string out = folder.path() + "/study";
    const Ran ran = with_gpu(c.fake, "hitproof study boundary --preset micro --device cuda --out " +
                                         schema::shell_word(out));
    EXPECT_EQ(ran.exit, 2) << ran.err;
    EXPECT_THAT(ran.err, c.says);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("hitproof: the engine refuses preset 'micro'"),
                               HasSubstr("what to do: run it where the message's demand is met, or "
                                         "with --device sim")));
    EXPECT_FALSE(std::filesystem::exists(out + "/candidate")) << "nothing was recorded";
  }
}

} // namespace
} // namespace hitproof::cli::testing
