#include "engine/front/block_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace hitproof::engine {
namespace {

PrefixHash content(int number) {
  PrefixHash hash{};
  hash[0] = static_cast<uint8_t>(number);
  hash[1] = static_cast<uint8_t>(number >> 8);
  return hash;
}

TEST(BlockPool, NeverGivesOutTheNullBlock) {
  BlockPool pool(4);
  std::set<int32_t> given;
  while (const auto block = pool.take(1, 0, 0, 16))
    given.insert(*block);
  EXPECT_THAT(given, testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(pool.available(), 0);
  EXPECT_THROW(BlockPool(1), std::invalid_argument);
}

TEST(BlockPool, EachGivingOutRaisesTheGeneration) {
  BlockPool pool(2);
  for (uint32_t generation = 1; generation < 5; ++generation) {
    const auto block = *pool.take(1, 2, 0, 0);
    EXPECT_EQ(pool.generation(block), generation);
    pool.release(block, 1);
  }
}

TEST(BlockPool, CachedContentStaysFindableUntilItsIdIsNeeded) {
  BlockPool pool(4);
  std::vector<int32_t> blocks;
  for (int i = 0; i < 3; ++i) {
    blocks.push_back(*pool.take(1, 0, 0, 16));
    pool.file(blocks.back(), content(i), 1);
  }
  for (const int32_t block : blocks)
    pool.release(block, 1);
  EXPECT_EQ(pool.find(0, content(1)), blocks[1]);
  EXPECT_EQ(pool.find(2, content(1)), 0) << "the content of another group";
  pool.share(blocks[0], 2);
  EXPECT_EQ(*pool.take(2, 0, 0, 16), blocks[1])
      << "block 0 is in use again, so 1 is the one released longest ago";
  EXPECT_EQ(pool.find(0, content(1)), 0);
  EXPECT_EQ(pool.find(0, content(0)), blocks[0]);
  EXPECT_EQ(pool.find(0, content(2)), blocks[2]);
}

TEST(BlockPool, BlocksWithoutContentAreGivenOutFirst) {
  BlockPool pool(4);
  const auto cached = *pool.take(1, 0, 0, 16);
  const auto plain = *pool.take(1, 1, 0, 0);
  const auto third = *pool.take(1, 1, 0, 0);
  pool.file(cached, content(1), 1);
  pool.release(cached, 1);
  pool.release(plain, 1);
  EXPECT_EQ(*pool.take(2, 0, 0, 16), plain);
  EXPECT_EQ(*pool.take(2, 0, 0, 16), cached);
  EXPECT_FALSE(pool.take(2, 0, 0, 16));
  pool.release(third, 1);
}

TEST(BlockPool, TheFirstHolderOfAContentIsTheFindableOne) {
  BlockPool pool(4);
  const auto first = *pool.take(1, 0, 0, 16);
  const auto second = *pool.take(2, 0, 0, 16);
  pool.file(first, content(1), 1);
  pool.file(second, content(1), 2);
  EXPECT_FALSE(pool.filed(second));
  EXPECT_EQ(pool.find(0, content(1)), first);
}

TEST(BlockPool, ResetForgetsAndIsRefusedWhileBlocksAreInUse) {
  std::vector<BlockEvent> events;
  BlockPool pool(3, [&events](const BlockEvent& e) { events.push_back(e); });
  const auto block = *pool.take(1, 0, 0, 16);
  pool.file(block, content(1), 1);
  EXPECT_FALSE(pool.reset());
  pool.release(block, 1);
  EXPECT_TRUE(pool.reset());
  EXPECT_EQ(pool.find(0, content(1)), 0);
  std::vector<BlockOp> ops;
  for (const BlockEvent& e : events)
    ops.push_back(e.op);
  EXPECT_THAT(
      ops, testing::ElementsAre(BlockOp::given, BlockOp::cached, BlockOp::freed, BlockOp::evicted));
}

TEST(BlockPool, MisuseIsAnError) {
  BlockPool pool(3);
  EXPECT_THROW(pool.release(1, 1), std::logic_error);
  EXPECT_THROW(pool.release(0, 1), std::logic_error);
  EXPECT_THROW(pool.file(1, content(1), 1), std::logic_error);
  EXPECT_THROW(pool.share(1, 1), std::logic_error);
}

TEST(BlockPool, HoldsItsInvariantsUnderRandomUse) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&random](int n) {
      return std::uniform_int_distribution<int>(0, n - 1)(random);
    };
    std::map<int32_t, uint32_t> last_generation;
    BlockPool pool(2 + pick(30), [&](const BlockEvent& e) {
      if (e.op != BlockOp::given) return;
      EXPECT_EQ(e.generation, ++last_generation[e.block]);
    });
    std::multimap<int32_t, uint64_t> owned;
    int in_use = 0;
    for (int step = 0; step < 2000; ++step) {
      const auto request = static_cast<uint64_t>(1 + pick(4));
      const int action = pick(4);
      if (action == 0) {
        const auto block = pool.take(request, pick(5), 0, 0);
        EXPECT_EQ(block.has_value(), pool.capacity() > in_use);
        if (!block) continue;
        EXPECT_NE(*block, 0);
        EXPECT_EQ(owned.count(*block), 0u) << "a block in use was given out";
        owned.emplace(*block, request);
      } else if (action == 1 && !owned.empty()) {
        const auto it = std::next(owned.begin(), pick(static_cast<int>(owned.size())));
        pool.release(it->first, it->second);
        owned.erase(it);
      } else if (action == 2 && !owned.empty()) {
        const auto it = std::next(owned.begin(), pick(static_cast<int>(owned.size())));
        pool.file(it->first, content(pick(40)), it->second);
      } else if (action == 3) {
        const int group = pick(5);
        const int32_t found = pool.find(group, content(pick(40)));
        if (found == 0) continue;
        EXPECT_EQ(pool.group(found), group);
        EXPECT_TRUE(pool.filed(found));
        pool.share(found, request);
        owned.emplace(found, request);
      }
      std::set<int32_t> ids;
      for (const auto& [id, r] : owned)
        ids.insert(id);
      in_use = static_cast<int>(ids.size());
      ASSERT_EQ(pool.in_use(), in_use);
      for (const int32_t id : ids)
        ASSERT_EQ(pool.owners(id), static_cast<int>(owned.count(id)));
    }
  }
}

} // namespace
} // namespace hitproof::engine
