// The host program is the same with and without the probe, whatever it does to its process.
#include "tests/probes/run_subject.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <set>

namespace hitproof::probes_test {
namespace {

namespace fs = std::filesystem;

struct Case {
  const char* scenario;
  int exit_code;
};

class HostProgram : public testing::TestWithParam<Case> {};

TEST_P(HostProgram, EndsAsWithoutTheProbe) {
  const Recorded bare = run({GetParam().scenario}, {.probe = false, .record = false});
  const Recorded inert = run({GetParam().scenario}, {.record = false});
  const Recorded probed = run({GetParam().scenario});
  // NVIDIA's libraries have names that the simulated ones lack: there, what counts is the equality.
  if (std::getenv("HITPROOF_TEST_LIBRARIES") == nullptr) {
    EXPECT_EQ(bare.exit_code, GetParam().exit_code) << bare.err;
  }
  EXPECT_EQ(inert.exit_code, bare.exit_code) << inert.err;
  EXPECT_EQ(probed.exit_code, bare.exit_code) << probed.err;
  EXPECT_EQ(inert.err, bare.err);
  EXPECT_EQ(probed.err, bare.err);
  EXPECT_TRUE(inert.rows.empty()) << "without HITPROOF_DIR nothing is written";
  EXPECT_FALSE(probed.rows.empty());
  EXPECT_EQ(probed.gaps, 0u);
}

constexpr int abort_code = 128 + 6, kill_code = 128 + 9;
INSTANTIATE_TEST_SUITE_P(Subjects, HostProgram,
                         testing::Values(Case{"idle", 3}, Case{"threads", 0}, Case{"children", 0},
                                         Case{"short_threads", 0}, Case{"replaced", 0},
                                         Case{"replaced_in_children", 0}, Case{"gone", 5},
                                         Case{"gone_quickly", 6}, Case{"killed", kill_code},
                                         Case{"thrown", abort_code}, Case{"error_number", 0},
                                         Case{"captured", 0}, Case{"two_processes", 0},
                                         Case{"by_dlsym", 0}, Case{"by_proc_address", 0},
                                         Case{"absent_name", 0}),
                         [](const auto& i) { return std::string(i.param.scenario); });

TEST(Process, WithoutCudaHasItsRecordAndNothingElse) {
  const Recorded r = run({"idle"});
  const auto processes = r.all<schema::rec::process>();
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(schema::get_text(processes[0].exe), "probe_subject");
  EXPECT_EQ(processes[0].seq, 1u) << "first record of the main thread";
  EXPECT_EQ(processes[0].rank, -1);
  EXPECT_EQ(processes[0].mode, 1u | 2 | 4 | 8 | 32);
  EXPECT_TRUE(r.all<schema::rec::copy>().empty());
  EXPECT_EQ(r.coverage("hooks").calls, 0u);
}

TEST(Process, RecordsTheEnvironmentByAllowList) {
  const Recorded r =
      run({"idle"}, {.environment = {{"VLLM_TEST_SETTING", "seven"}, {"SECRET_TOKEN", "x"}}});
  std::set<std::string> names;
  for (const auto& m : r.all<schema::rec::meta>())
    names.insert(std::string(schema::get_text(m.name)));
  EXPECT_TRUE(names.count("env:VLLM_TEST_SETTING"));
  EXPECT_TRUE(names.count("env:HITPROOF_DIR"));
  EXPECT_FALSE(names.count("env:SECRET_TOKEN"));
  EXPECT_FALSE(names.count("env:HOSTNAME"));
}

TEST(Process, ThreadsLoseNothing) {
  const Recorded r = run({"threads"});
  EXPECT_EQ(r.all<schema::rec::copy>().size(), 6u * 8 * 20);
  for (const auto& c : r.all<schema::rec::copy>())
    EXPECT_EQ(c.direction, 1);
  EXPECT_EQ(r.coverage("cudaMemcpyAsync").calls, 6u * 8 * 20);
  EXPECT_EQ(r.coverage("addresses").dropped, 0u);
}

TEST(Process, AThreadForEachCallUsesOneJournal) {
  const Recorded r = run({"short_threads"});
  const auto copies = r.all<schema::rec::copy>(r.pid);
  EXPECT_EQ(copies.size(), 500u);
  std::set<std::uint32_t> journals;
  for (const auto& c : copies)
    journals.insert(c.tid);
  EXPECT_EQ(journals.size(), 1u) << "a segment of a mebibyte for each";
  EXPECT_EQ(r.gaps, 0u);
}

TEST(Process, ChildrenWriteJournalsOfTheirOwn) {
  const Recorded r = run({"children"});
  // The parent, and the child that became another program. Children that only exit record nothing
  // or an empty process, never a copy of the parent's.
  EXPECT_EQ(r.all<schema::rec::copy>(r.pid).size(), 2u);
  EXPECT_EQ(r.all<schema::rec::copy>().size(), 2u);
  std::set<std::uint32_t> pids;
  for (const auto& p : r.all<schema::rec::process>())
    pids.insert(p.pid);
  EXPECT_GE(pids.size(), 2u);
  EXPECT_EQ(r.coverage("cudaMemcpy").calls, 2u);
}

TEST(Process, ExecKeepsBothLivesOfThePid) {
  const Recorded r = run({"replaced"});
  EXPECT_EQ(r.all<schema::rec::process>().size(), 2u);
  EXPECT_EQ(r.all<schema::rec::copy>().size(), 1u + 8u);
  EXPECT_EQ(counters(r, {"hooks"}, r.pid).size(), 2u) << "both say what they could not see";
  const auto copies = counters(r, {"cudaMemcpy"}, r.pid);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].calls, 1u);
}

// A child in its parent's memory must not write its parent's counters, and a failed exec goes on.
TEST(Process, ChildrenThatAreReplacedLeaveTheParentsCounters) {
  const Recorded r = run({"replaced_in_children"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(counters(r, {"hooks"}, r.pid).size(), 2u)
      << "before the exec that failed, and at the end";
  EXPECT_EQ(counters(r, {"cudaMemcpy"}, r.pid).back().calls, 1u);
}

TEST(Process, WhatWasWrittenBeforeTheEndIsThere) {
  for (const char* scenario : {"gone", "killed", "thrown"}) {
    const Recorded r = run({scenario});
    EXPECT_EQ(r.all<schema::rec::copy>().size(), 1u) << scenario;
    // Who ends by _exit has still said what it could not see; who is killed has not.
    EXPECT_EQ(counters(r, {"hooks"}, r.pid).size(), scenario == std::string("gone") ? 1u : 0u)
        << scenario;
  }
}

TEST(Process, CountersAreWrittenBehindTheHandlersOfAQuickExit) {
  EXPECT_EQ(run({"gone_quickly"}).coverage("cudaMemcpy").calls, 2u);
}

TEST(Process, CallsBeforeMainAndAfterItAreRecorded) {
  const Environment both{{"SUBJECT_EARLY", "1"}, {"SUBJECT_LATE", "1"}};
  const Recorded bare = run({"once"}, {.environment = both, .probe = false, .record = false});
  const Recorded r = run({"once"}, {.environment = both});
  EXPECT_EQ(r.exit_code, bare.exit_code) << r.err;
  EXPECT_EQ(r.err, bare.err);
  // NVIDIA's runtime refuses what comes after it was taken down, with the probe and without.
  const bool late = bare.exit_code == 0;
  EXPECT_TRUE(late || bare.err.find("failed with 4") != std::string::npos) << bare.err;
  EXPECT_EQ(r.all<schema::rec::copy>().size(), 1u + 8 + (late ? 1 : 0));
}

class DlopenFlags : public testing::TestWithParam<const char*> {};

TEST_P(DlopenFlags, LibrariesLoadedLateAreObserved) {
  const Options options{.environment = {{"LD_LIBRARY_PATH", device_libraries()}},
                        .program = HITPROOF_PLAIN};
  Options bare = options;
  bare.probe = false;
  const std::vector<std::string> arguments{GetParam(), device_library("libcudart.so.13")};
  const Recorded without = run(arguments, bare);
  const Recorded with = run(arguments, options);
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(with.out, without.out);
  const auto copies = with.all<schema::rec::copy>();
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].direction, 1);
  EXPECT_EQ(copies[1].direction, 0);
  EXPECT_EQ(with.all<schema::rec::hook>().size(), with.hooks().size()) << "written once";
}

INSTANTIATE_TEST_SUITE_P(Flags, DlopenFlags,
                         testing::Values("now+local", "now+global", "lazy+local", "lazy+global",
                                         "now+nodelete", "now+deepbind"),
                         [](const auto& i) {
                           std::string name = i.param;
                           for (char& c : name)
                             if (c == '+') c = '_';
                           return name;
                         });

#if defined(HITPROOF_PLAIN_address) && defined(HITPROOF_PLAIN_thread)
TEST(Sanitizers, ProgramsUnderThemRunAndAreObserved) {
  const struct {
    const char *program, *library;
  } kinds[] = {{HITPROOF_PLAIN_address, HITPROOF_LIB_asan},
               {HITPROOF_PLAIN_thread, HITPROOF_LIB_tsan}};
  for (const auto& kind : kinds) {
    Options options{.environment = {{"LD_LIBRARY_PATH", device_libraries()},
                                    {"LD_PRELOAD", kind.library},
                                    {"ASAN_OPTIONS", "detect_leaks=0:protect_shadow_gap=0"},
                                    {"TSAN_OPTIONS", "report_bugs=0"}},
                    .program = kind.program};
    const Recorded r = run({"now", device_library("libcudart.so.13")}, options);
    EXPECT_EQ(r.exit_code, 0) << kind.library << "\n" << r.err;
    EXPECT_EQ(r.all<schema::rec::copy>().size(), 2u) << kind.library;
  }
}
#endif

TEST(TwoRuntimes, TheProbeSaysSoAndStaysOut) {
  char pattern[] = "/tmp/hitproof-two-runtimes-XXXXXX";
  const fs::path dir = mkdtemp(pattern);
  const fs::path other = dir / "libcudart.so.12";
  fs::copy_file(device_library("libcudart.so.13"), other);
  const Options options{.environment = {{"LD_LIBRARY_PATH", device_libraries()}},
                        .program = HITPROOF_PLAIN};
  Options bare = options;
  bare.probe = false;
  const std::vector<std::string> arguments{"now", device_library("libcudart.so.13"), other};
  const Recorded without = run(arguments, bare);
  const Recorded with = run(arguments, options);
  fs::remove_all(dir);
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_EQ(with.exit_code, without.exit_code) << with.err;
  EXPECT_EQ(with.out, without.out);
  EXPECT_NE(with.err.find("stays out"), std::string::npos) << with.err;
  EXPECT_EQ(std::count(with.err.begin(), with.err.end(), '\n'), 1) << "one line";
  EXPECT_EQ(with.coverage("path:two_runtimes").calls, 3u);
  EXPECT_EQ(with.all<schema::rec::copy>().size(), 2u) << "until the second runtime came";
}

// What stays out changes nothing: a name that no CUDA library has is absent, although the probe has
// a hook of that name.
TEST(TwoRuntimes, LookUpsAreAnsweredAsWithoutTheProbe) {
  char pattern[] = "/tmp/hitproof-two-runtimes-XXXXXX";
  const fs::path dir = mkdtemp(pattern);
  const fs::path other = dir / "libcudart.so.12";
  fs::copy_file(device_library("libcudart.so.13"), other);
  const std::vector<std::string> both = {device_library("libcudart.so.13"), other};
  const Recorded without = run({"absent_name"}, {.probe = false, .record = false, .preload = both});
  const Recorded with = run({"absent_name"}, {.preload = both});
  fs::remove_all(dir);
  if (std::getenv("HITPROOF_TEST_LIBRARIES") == nullptr) {
    EXPECT_EQ(without.exit_code, 0) << without.err;
  }
  EXPECT_EQ(with.exit_code, without.exit_code) << with.err;
  EXPECT_NE(with.err.find("stays out"), std::string::npos) << with.err;
}

TEST(Disk, NoDirectoryToWriteToChangesNothing) {
  const Recorded r = run({"once"}, {.environment = {{"HITPROOF_DIR", "/proc/no/such/place"}}});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_TRUE(r.rows.empty());
  const Recorded relative = run({"once"}, {.environment = {{"HITPROOF_DIR", "relative"}}});
  EXPECT_EQ(relative.exit_code, 0);
  EXPECT_TRUE(relative.rows.empty());
}

} // namespace
} // namespace hitproof::probes_test
