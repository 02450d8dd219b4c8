// The subset headers against the real ones, fact by fact.
#include "tests/sim/abi_facts.h"

#include <gtest/gtest.h>

namespace hitproof::sim::tests {

TEST(Abi, SubsetHeadersAgreeWithTheRealOnes) {
  const auto ours = subset_facts();
  const auto theirs = real_facts();
  ASSERT_EQ(ours.size(), theirs.size());
  ASSERT_GT(ours.size(), 500u);
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].name, theirs[i].name);
    EXPECT_EQ(ours[i].value, theirs[i].value) << ours[i].name;
  }
}

} // namespace hitproof::sim::tests
