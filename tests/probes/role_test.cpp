// One thread announces while others launch kernels and write records. Under the thread checker
// (scripts/sanitize tsan) this also holds that nobody reads what is being written.
#include "probes/role.h"
#include "schema/records.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

namespace hitproof::probes {
namespace {

std::string text_of(const Role& role) { return std::string(schema::get_text(role.text)); }

class RoleTest : public ::testing::Test {
 protected:
  void SetUp() override { forget_role_after_fork(); }
};

TEST_F(RoleTest, IsTheLatestAnnouncement) {
  EXPECT_FALSE(role_announced());
  EXPECT_EQ(text_of(announced_role()), "");
  EXPECT_EQ(announced_role().rank, -1);
  EXPECT_EQ(text_of(announce_role("cache_server", -1)), "cache_server");
  EXPECT_TRUE(role_announced());
  EXPECT_EQ(announce_role("rank", 3).rank, 3);
  EXPECT_EQ(text_of(announced_role()), "rank");
  EXPECT_EQ(announced_role().rank, 3);
  forget_role_after_fork();
  EXPECT_FALSE(role_announced());
  EXPECT_EQ(announced_role().rank, -1);
}

TEST_F(RoleTest, IsCutToItsField) {
  const std::string longest(24, 'x');
  EXPECT_EQ(text_of(announce_role((longest + "y").c_str(), 0)), longest);
  EXPECT_EQ(text_of(announced_role()), longest);
}

TEST_F(RoleTest, TextAndRankAreAlwaysOfOneAnnouncement) {
  const std::string first(24, 'a'), second(24, 'b');
  std::atomic<bool> end{false};
  std::atomic<int> reading{0}, torn{0}, early{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      ++reading;
      while (!end) {
        const bool announced = role_announced();
        const Role role = announced_role();
        const std::string text = text_of(role);
        if (announced && text.empty()) ++early;
        if (!text.empty() && text != (role.rank == 1 ? first : second)) ++torn;
      }
    });
  }
  while (reading < 2)
    std::this_thread::yield();
  for (int i = 0; i < 200'000; ++i) {
    announce_role(first.c_str(), 1);
    announce_role(second.c_str(), 2);
  }
  end = true;
  for (std::thread& reader : readers)
    reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(early, 0);
}

} // namespace
} // namespace hitproof::probes
