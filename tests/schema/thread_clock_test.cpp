#include "child.h"
#include "schema/thread_clock.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace hitproof::schema {
namespace {

// How far a reading lies outside the two readings of now() around it, which are the truth: the
// median, because a busy machine interrupts between any two lines.
std::int64_t typical_error(std::uint64_t for_ns) {
  std::vector<std::int64_t> errors;
  const std::uint64_t end = now() + for_ns;
  for (std::uint64_t before = now(); before < end; before = now()) {
    const std::uint64_t t = ThreadClock::after();
    const std::uint64_t after = now();
    errors.push_back(t < before  ? static_cast<std::int64_t>(before - t)
                     : t > after ? static_cast<std::int64_t>(t - after)
                                 : 0);
  }
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2),
                   errors.end());
  return errors[errors.size() / 2];
}

TEST(ThreadClock, AgreesWithTheMonotonicClock) {
  EXPECT_LT(typical_error(1'000'000), 1000); // before prepare(): now() itself
  ThreadClock::prepare();
  EXPECT_LT(typical_error(300'000'000), 1000);
}

TEST(ThreadClock, AgreesAcrossThreadsAndInAForkedChild) {
  ThreadClock::prepare();
  std::int64_t of_thread = -1;
  std::thread([&] { of_thread = typical_error(50'000'000); }).join();
  EXPECT_LT(of_thread, 1000);
  const pid_t child = start_child([] {
    ThreadClock::prepare();
    return typical_error(50'000'000) < 1000 ? 0 : 1;
  });
  EXPECT_EQ(exit_code(child), 0);
}

TEST(ThreadClock, NeverGoesBackInAThread) {
  ThreadClock::prepare();
  std::uint64_t last = 0;
  const std::uint64_t end = now() + 200'000'000;
  for (int i = 0; last < end; ++i) {
    const std::uint64_t t = i % 2 == 0 ? ThreadClock::before() : ThreadClock::after();
    ASSERT_GE(t, last);
    last = t;
  }
}

} // namespace
} // namespace hitproof::schema
