// The cross-check's session with CUPTI, on a fake of it: what it counts, and what is said where it
// cannot count.
#include "tests/probes/run_subject.h"

#include <dlfcn.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::probes_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

Recorded with_cupti(const std::string& mode, const std::string& scenario = "once",
                    const std::string& folder = HITPROOF_FAKE_CUPTI_FOLDER) {
  return run({scenario}, {.environment = {{"HITPROOF_CUPTI", "1"},
                                          {"HITPROOF_PROBES", "metadata"},
                                          {"FAKE_CUPTI", mode},
                                          {"FAKE_CUPTI_COPIES", "1 30 1 6 2 100 8 7"},
                                          {"LD_LIBRARY_PATH", folder}}});
}

std::string refused(const Recorded& r) {
  for (const auto& m : r.all<schema::rec::meta>()) {
    if (schema::get_text(m.name) == "crosscheck.refused")
      return std::string(schema::get_text(m.value));
  }
  return "";
}

TEST(Cupti, CountsWhatItGivesBack) {
  const Recorded r = with_cupti("works");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.err, IsEmpty());
  EXPECT_EQ(r.coverage("cupti:session").installed, 1u);
  EXPECT_EQ(r.coverage("cupti:session").calls, 4u);
  EXPECT_EQ(r.coverage("cupti:h2d").calls, 2u);
  EXPECT_EQ(r.coverage("cupti:h2d").bytes, 36u);
  EXPECT_EQ(r.coverage("cupti:d2h").bytes, 100u);
  EXPECT_EQ(r.coverage("cupti:d2d").bytes, 7u);
  EXPECT_EQ(r.coverage("cupti:buffers").calls, 1u);
  EXPECT_EQ(r.coverage("cupti:buffers").dropped, 0u);
  EXPECT_EQ(refused(r), "");
}

struct Case {
  const char *mode, *cause, *to_do;
  std::uint64_t buffers_kept;
};

class Refusal : public testing::TestWithParam<Case> {};

TEST_P(Refusal, NamesTheCauseAndCountsNothing) {
  const Case& c = GetParam();
  const Recorded r = with_cupti(c.mode);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.err, AllOf(HasSubstr("hitproof: no cross-check in process " +
                                     std::to_string(r.pid) + ": " + c.cause + "; "),
                           HasSubstr(c.to_do)));
  // Refused behind the subscription: the place is given back, for a tool that comes later.
  const bool given_back = r.err.find("fake CUPTI: unsubscribed\n") != std::string::npos;
  EXPECT_EQ(given_back, std::string(c.mode) == "no_device") << r.err;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), given_back ? 2 : 1) << r.err;
  EXPECT_EQ(refused(r), c.cause);
  EXPECT_EQ(r.all<schema::rec::copy>().size(), 8u) << "the ledger goes on";
  // What rule crosscheck takes for a session that did not answer, and compares with nothing.
  ASSERT_EQ(r.lines("copy").size(), 8u);
  const auto session = r.coverage("cupti:session");
  EXPECT_EQ(schema::get_text(session.name), "cupti:session") << "written all the same";
  EXPECT_EQ(session.installed, 0u);
  EXPECT_EQ(schema::get_text(r.coverage("cupti:h2d").name), "") << "no bytes to compare";
  EXPECT_EQ(r.coverage("cupti:buffers").dropped, c.buffers_kept);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, Refusal,
    testing::Values(Case{"another", "another tool has CUPTI (cuptiSubscribe: 39)",
                         "run without it (nsys, ncu, cuda-gdb, torch.profiler", 0},
                    Case{"no_device", "no GPU or driver that it can use (cuptiActivityEnable: 999)",
                         "it needs an NVIDIA GPU and a driver", 0},
                    Case{"silent", "CUPTI took 0 buffers and gave 0 back",
                         "another tool took the records over (torch.profiler", 0},
                    Case{"keeps", "CUPTI took 2 buffers and gave 1 back",
                         "another tool took the records over (torch.profiler", 1}),
    [](const auto& i) { return std::string(i.param.mode); });

// Nothing was due: a process without copies agrees with no records.
TEST(Cupti, SilenceIsAnAnswerWhereNothingMoved) {
  const Recorded r = with_cupti("silent", "idle");
  EXPECT_EQ(r.exit_code, 3);
  EXPECT_THAT(r.err, IsEmpty());
  EXPECT_EQ(r.coverage("cupti:session").installed, 1u);
}

std::vector<std::pair<std::string, std::uint64_t>> said_at_ends(const Recorded& r) {
  std::vector<std::pair<std::string, std::uint64_t>> said;
  for (const auto& c : counters(r, {"cupti:flush", "cupti:unsettled"}))
    said.emplace_back(schema::get_text(c.name), c.calls);
  return said;
}

TEST(Cupti, AnotherThreadsCallAtTheEndIsSaid) {
  const Recorded r = with_cupti("works", "replaced_at_work");
  EXPECT_EQ(r.exit_code, 3) << r.err;
  EXPECT_THAT(said_at_ends(r), ElementsAre(Pair("cupti:flush", 0u), Pair("cupti:unsettled", 1u),
                                           Pair("cupti:flush", 0u)));
}

TEST(Cupti, BuffersThatOtherThreadsFillAreNoOtherTools) {
  const Recorded r = with_cupti("keeps", "replaced_at_work");
  EXPECT_EQ(refused(r), "CUPTI took 2 buffers and gave 1 back, other threads copied");
  EXPECT_THAT(r.err, HasSubstr(", other threads copied; let them end before the program does\n"));
}

TEST(Cupti, CopiesBehindTheCountAreSaidOnce) {
  const Recorded r = with_cupti("works", "not_replaced");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(said_at_ends(r), ElementsAre(Pair("cupti:flush", 0u), Pair("cupti:unsettled", 0u),
                                           Pair("cupti:flush", 0u)));
}

TEST(Cupti, NothingIsSaidOfThreadsThatAreDone) {
  EXPECT_THAT(said_at_ends(with_cupti("works", "threads")), ElementsAre(Pair("cupti:flush", 0u)));
}

TEST(Cupti, ALibraryOfAnotherKindIsNamed) {
  char pattern[] = "/tmp/hitproof-no-cupti-XXXXXX";
  const std::filesystem::path folder = mkdtemp(pattern);
  std::filesystem::copy_file(device_library("libcuda.so.1"), folder / "libcupti.so.13");
  const Recorded r = with_cupti("works", "idle", folder);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(r.exit_code, 3);
  EXPECT_THAT(r.err, HasSubstr("libcupti has no cuptiSubscribe; install the CUPTI of CUDA"));
  EXPECT_EQ(r.coverage("cupti:session").installed, 0u);
}

TEST(Cupti, AMissingLibraryIsNamedWithWhereToGetIt) {
  for (const char* name :
       {"libcupti.so.13", "libcupti.so.12", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
        "/usr/local/cuda/lib64/libcupti.so.13"}) {
    if (dlopen(name, RTLD_LAZY | RTLD_LOCAL) != nullptr) GTEST_SKIP() << name << " is installed";
  }
  const Recorded r = with_cupti("works", "once", "/nonexistent");
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.err,
              AllOf(HasSubstr("libcupti.so.13 was not found"),
                    HasSubstr("pip install nvidia-cuda-cupti"), HasSubstr("LD_LIBRARY_PATH")));
  EXPECT_EQ(refused(r), "libcupti.so.13 was not found");
  EXPECT_EQ(r.coverage("cupti:session").installed, 0u);
}

} // namespace
} // namespace hitproof::probes_test
