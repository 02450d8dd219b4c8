// How a process ends is its own affair; what it recorded says so, no more and no less.
#include "tests/probes/run_subject.h"

#include <gtest/gtest.h>

namespace hitproof::probes_test {
namespace {

std::vector<std::string> names(const std::vector<schema::rec::coverage>& rows) {
  std::vector<std::string> found;
  for (const auto& c : rows)
    found.emplace_back(schema::get_text(c.name));
  return found;
}
using Names = std::vector<std::string>;

struct Case {
  const char* scenario;
  int exit_code;
};
class End : public testing::TestWithParam<Case> {};

TEST_P(End, IsAsWithoutTheProbe) {
  const std::vector<std::string> arguments = {GetParam().scenario};
  const Recorded bare = run(arguments, {.probe = false, .record = false});
  const Recorded probed = run(arguments);
  EXPECT_EQ(bare.exit_code, GetParam().exit_code) << bare.err;
  EXPECT_EQ(probed.exit_code, bare.exit_code) << probed.err;
  EXPECT_EQ(probed.err, bare.err);
}

INSTANTIATE_TEST_SUITE_P(Subjects, End,
                         testing::Values(Case{"ended_in_malloc", 5},
                                         Case{"ended_on_a_small_stack", 6},
                                         Case{"cancelled_in_exec", 0}, Case{"child_of_clone", 0},
                                         Case{"in_the_background", 0}, Case{"left_at_the_end", 7}),
                         [](const auto& i) { return std::string(i.param.scenario); });

TEST(Ends, AHandlerOnAThreadWithoutJournalWritesTheCounters) {
  for (const char* scenario : {"ended_in_malloc", "ended_on_a_small_stack"}) {
    const Recorded r = run({scenario});
    EXPECT_EQ(counters(r, {"hooks"}, r.pid).size(), 1u) << scenario;
    EXPECT_EQ(r.coverage("cudaMemcpy").calls, 1u) << scenario;
    EXPECT_EQ(r.gaps, 0u) << scenario;
  }
}

TEST(Ends, AnExecThatFailsTakesTheCountersBack) {
  EXPECT_EQ(names(counters(run({"not_replaced"}), {"hooks", "exec:failed"})),
            (Names{"hooks", "exec:failed", "hooks"}));
}

TEST(Ends, AChildOfCloneDoesNotRepeatItsParentsCounters) {
  EXPECT_EQ(counters(run({"child_of_clone"}), {"hooks"}).size(), 1u);
}

TEST(Ends, AParentThatADaemonLeavesWritesItsCounters) {
  const Recorded r = run({"in_the_background"});
  EXPECT_EQ(names(counters(r, {"hooks", "exec:failed"}, r.pid)), (Names{"hooks"}));
  EXPECT_EQ(r.coverage("cudaMemcpy").calls, 1u);
}

TEST(Ends, ACallThatIsLeftAtTheEndIsLost) {
  const Recorded r = run({"left_at_the_end"});
  EXPECT_EQ(counters(r, {"hooks"}).size(), 1u);
  EXPECT_EQ(r.coverage("hooks").dropped, 1u);
}

} // namespace
} // namespace hitproof::probes_test
