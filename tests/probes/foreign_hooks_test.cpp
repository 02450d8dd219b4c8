// Another tool wraps CUDA calls in the same process: the program goes on as without the probe,
// every copy is in the ledger once, and the recording says that it is not alone.
#include "tests/probes/run_subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::probes_test {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

struct Case {
  const char *name, *library;
  bool before; // the probe, in LD_PRELOAD
};

// A tool before the probe hands out its own function instead of the probe's, and by what version
// the program asked for it is then the tool's knowledge alone.
std::vector<std::string> without_version(std::vector<std::string> copies, bool unknown) {
  const std::string known = "copy cuMemcpyHtoDAsync_v2 v12080";
  for (std::string& copy : copies) {
    if (unknown && copy.rfind(known, 0) == 0)
      copy.replace(0, known.size(), "copy cuMemcpyHtoDAsync_v2 v0");
  }
  return copies;
}

class ForeignHook : public testing::TestWithParam<std::tuple<Case, const char*>> {
 protected:
  static Options options(bool probe, bool record) {
    const Case& c = std::get<0>(GetParam());
    Options o{.probe = probe, .record = record};
    if (c.before)
      o.environment["LD_PRELOAD"] = c.library;
    else
      o.preload = {c.library};
    return o;
  }
};

TEST_P(ForeignHook, TheProgramIsTheSameAndTheLedgerHasEachCopyOnce) {
  const char* const scenario = std::get<1>(GetParam());
  const Case& c = std::get<0>(GetParam());
  const Recorded bare = run({scenario}, options(false, false));
  const Recorded inert = run({scenario}, options(true, false));
  const Recorded r = run({scenario}, options(true, true));
  ASSERT_EQ(bare.exit_code, 0) << bare.err;
  ASSERT_THAT(bare.err, HasSubstr("foreign: ")) << "the tool is there";
  EXPECT_EQ(inert.exit_code, 0) << inert.err;
  EXPECT_EQ(inert.err, bare.err);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_FALSE(r.lines("copy").empty());
  EXPECT_THAT(without_version(copies_of(r), c.before),
              ElementsAreArray(without_version(r.lines("copy"), c.before)));
  EXPECT_EQ(r.gaps, 0u);

  const std::size_t end = r.err.find('\n');
  const std::string line = r.err.substr(0, end);
  EXPECT_THAT(line, HasSubstr("hitproof: " + std::string(c.library) + " has a "));
  EXPECT_THAT(line, HasSubstr("of its own in process " + std::to_string(r.pid)));
  EXPECT_THAT(line, HasSubstr("record without it"));
  // Copies that were asked for by the same version have one wrapper: where a tool behind the probe
  // answered one of them, it also sees those that were asked for past it.
  const bool answered = !c.before && std::string(scenario) == "by_proc_address";
  const auto seen = [answered](const std::string& lines) {
    return answered ? lines.substr(0, lines.find('\n')) : lines;
  };
  EXPECT_EQ(seen(r.err.substr(end + 1)), seen(bare.err))
      << "one line, and the tool has seen the same calls";

  const auto counted = r.coverage("path:foreign_hook");
  EXPECT_EQ(counted.calls, answered ? 4u : 3u) << "its functions, with the one that it hands out";
  EXPECT_EQ(counted.installed, 1u) << "which rule evidence takes for a path that was used";
  std::vector<std::string> named;
  for (const auto& m : r.all<schema::rec::meta>()) {
    if (schema::get_text(m.name) == "foreign_hook") named.emplace_back(schema::get_text(m.value));
  }
  ASSERT_EQ(named.size(), 1u);
  const std::string path = c.library;
  EXPECT_EQ(named[0].rfind(path.substr(path.rfind('/') + 1) + ": cu", 0), 0u) << named[0];
}

constexpr Case cases[] = {{"NextBehind", HITPROOF_FOREIGN_NEXT, false},
                          {"NextBefore", HITPROOF_FOREIGN_NEXT, true},
                          {"HandleBehind", HITPROOF_FOREIGN_HANDLE, false},
                          {"HandleBefore", HITPROOF_FOREIGN_HANDLE, true},
                          {"DlsymBehind", HITPROOF_FOREIGN_DLSYM, false}};
INSTANTIATE_TEST_SUITE_P(Tools, ForeignHook,
                         testing::Combine(testing::ValuesIn(cases),
                                          testing::Values("once", "by_dlsym", "by_proc_address",
                                                          "by_entry_point", "driver_linked",
                                                          "captured")),
                         [](const auto& i) {
                           return std::string(std::get<0>(i.param).name) + "_" +
                                  std::get<1>(i.param);
                         });

// A call that does not return: its record is lost, and said to be where nothing unwinds; the thread
// is recorded again.
class CallThatIsLeft : public testing::TestWithParam<const char*> {};
TEST_P(CallThatIsLeft, EndsTheProgramAsWithoutTheProbe) {
  const std::string scenario = GetParam();
  for (const bool before : {false, true}) {
    const auto options = [before](bool probe, bool record) {
      Options o{.probe = probe, .record = record};
      if (before)
        o.environment["LD_PRELOAD"] = HITPROOF_FOREIGN_NEXT;
      else
        o.preload = {HITPROOF_FOREIGN_NEXT};
      return o;
    };
    const Recorded bare = run({scenario}, options(false, false));
    const Recorded inert = run({scenario}, options(true, false));
    const Recorded r = run({scenario}, options(true, true));
    ASSERT_EQ(bare.exit_code, 0) << bare.err;
    EXPECT_EQ(inert.exit_code, 0) << inert.err;
    EXPECT_EQ(inert.err, bare.err);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    ASSERT_EQ(r.lines("copy").size(), 3u);
    EXPECT_THAT(copies_of(r), ElementsAreArray(r.lines("copy"))) << scenario << before;
  }
}
INSTANTIATE_TEST_SUITE_P(Ways, CallThatIsLeft,
                         testing::Values("left_by_exception", "left_by_jump",
                                         "left_by_cancellation"),
                         [](const auto& i) { return std::string(i.param); });

TEST(ForeignHookOfNobody, IsNotCounted) {
  const Recorded r = run({"once"});
  EXPECT_EQ(r.coverage("path:foreign_hook").calls, 0u);
  EXPECT_EQ(r.err, "");
}

// A process that never has CUDA may run under any preload.
TEST(ForeignHookWithoutCuda, IsNotNamed) {
  const Recorded r =
      run({"/dev/null"}, {.preload = {HITPROOF_FOREIGN_NEXT}, .program = "/bin/cat"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.coverage("path:foreign_hook").calls, 0u);
  EXPECT_THAT(r.err, testing::Not(HasSubstr("hitproof")));
}

} // namespace
} // namespace hitproof::probes_test
