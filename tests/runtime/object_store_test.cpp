#include "engine/runtime/object_store.h"
#include "tests/runtime/sim_main.h"

#include <gtest/gtest.h>

namespace hitproof::engine {
namespace {

constexpr uint64_t page = 4096;

ObjectName name(uint8_t key, uint16_t entry = 0, uint32_t next = unknown_token) {
  Digest d{};
  d[0] = key;
  return {d, entry, next};
}

std::vector<Reserved> store_pages(ObjectStore& store, std::initializer_list<ObjectName> names) {
  std::vector<Wanted> wanted;
  for (const ObjectName& n : names)
    wanted.push_back({n, page});
  return store.reserve(wanted);
}

bool has(ObjectStore& store, const ObjectName& n, bool any_next = false) {
  Object* object = store.pin(n, any_next);
  if (object == nullptr) return false;
  Object* const list[] = {object};
  store.unpin(list);
  return true;
}

Stats stats_of(const ObjectStore& store) {
  Stats stats;
  store.fill(stats);
  return stats;
}

TEST(ObjectStore, AnObjectIsSeenOnlyAfterItsCopyHasCompleted) {
  ObjectStore store(16 * page);
  const auto pages = store_pages(store, {name(1)});
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_FALSE(pages[0].held);
  EXPECT_FALSE(has(store, name(1)));
  store.commit(pages);
  EXPECT_TRUE(has(store, name(1)));
}

TEST(ObjectStore, AFailedCopyLeavesNothing) {
  ObjectStore store(16 * page);
  store.abandon(store_pages(store, {name(1), name(2)}));
  EXPECT_FALSE(has(store, name(1)));
  EXPECT_EQ(stats_of(store).used_bytes, 0u);
}

TEST(ObjectStore, ASaveThatHoldsAnothersUnfinishedPageDoesNotPublishIt) {
  ObjectStore store(16 * page);
  const auto first = store_pages(store, {name(1)});
  const auto second = store_pages(store, {name(1), name(2)});
  ASSERT_EQ(second.size(), 2u);
  EXPECT_TRUE(second[0].held);
  store.commit(second);
  EXPECT_FALSE(has(store, name(1)));
  EXPECT_TRUE(has(store, name(2)));
  store.abandon(first);
  EXPECT_FALSE(has(store, name(1)));
  EXPECT_EQ(stats_of(store).objects, 1u);
}

TEST(ObjectStore, AnAbandonedPageStaysWhereItIsWhileAnotherSavePinsIt) {
  ObjectStore store(16 * page);
  const auto first = store_pages(store, {name(1)});
  const auto second = store_pages(store, {name(1)});
  store.abandon(first);
  EXPECT_EQ(stats_of(store).objects, 1u);
  store.commit(second);
  EXPECT_EQ(stats_of(store).objects, 0u);
}

TEST(ObjectStore, HeldPagesAreNotStoredTwice) {
  ObjectStore store(16 * page);
  store.commit(store_pages(store, {name(1)}));
  const auto again = store_pages(store, {name(1)});
  EXPECT_TRUE(again.at(0).held);
  store.commit(again);
  EXPECT_EQ(stats_of(store).objects, 1u);
  EXPECT_EQ(stats_of(store).used_bytes, page);
}

TEST(ObjectStore, TheLeastRecentlyUsedGoesFirst) {
  ObjectStore store(3 * page);
  for (uint8_t k = 1; k <= 3; ++k)
    store.commit(store_pages(store, {name(k)}));
  EXPECT_TRUE(has(store, name(1))); // a use
  store.commit(store_pages(store, {name(4)}));
  EXPECT_TRUE(has(store, name(1)));
  EXPECT_FALSE(has(store, name(2)));
  EXPECT_EQ(stats_of(store).evicted_objects, 1u);
}

TEST(ObjectStore, PinnedObjectsStay) {
  ObjectStore store(2 * page);
  store.commit(store_pages(store, {name(1)}));
  store.commit(store_pages(store, {name(2)}));
  Object* const pinned[] = {store.pin(name(1))};
  ASSERT_NE(pinned[0], nullptr);
  store.commit(store_pages(store, {name(3)}));
  EXPECT_TRUE(has(store, name(1)));
  EXPECT_FALSE(has(store, name(2)));
  EXPECT_TRUE(store_pages(store, {name(4), name(5)}).empty());
  store.unpin(pinned);
  EXPECT_EQ(store_pages(store, {name(4), name(5)}).size(), 2u);
}

TEST(ObjectStore, WhatDoesNotFitIsRefusedWhole) {
  ObjectStore store(2 * page);
  store.commit(store_pages(store, {name(9)}));
  EXPECT_TRUE(store_pages(store, {name(1), name(2), name(3)}).empty());
  EXPECT_TRUE(has(store, name(9))) << "nothing is evicted for a save that cannot fit";
  EXPECT_EQ(stats_of(store).used_bytes, page);
}

TEST(ObjectStore, PagesHeldByAReservationAreNotEvictedForItsOwnRest) {
  ObjectStore store(2 * page);
  store.commit(store_pages(store, {name(1)}));
  store.commit(store_pages(store, {name(2)}));
  const auto pages = store_pages(store, {name(1), name(3)});
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_TRUE(pages[0].held);
  EXPECT_FALSE(has(store, name(2)));
}

TEST(ObjectStore, TheNextTokenTellsContentsApart) {
  ObjectStore store(8 * page);
  store.commit(store_pages(store, {name(1, 45, 17)}));
  EXPECT_TRUE(has(store, name(1, 45, 17)));
  EXPECT_FALSE(has(store, name(1, 45, 18), true));
  EXPECT_FALSE(has(store, name(1, 45)));
  EXPECT_TRUE(has(store, name(1, 45), true)) << "a full lookup does not know the next token";
  EXPECT_FALSE(has(store, name(1, 44), true));
}

TEST(ObjectStore, RoomThatWasGivenBackIsMergedAndUsedAgain) {
  ObjectStore store(4 * page);
  for (uint8_t k = 1; k <= 4; ++k)
    store.commit(store_pages(store, {name(k)}));
  const std::vector<Wanted> large{{name(9), 4 * page}};
  const auto pages = store.reserve(large);
  ASSERT_EQ(pages.size(), 1u);
  store.commit(pages);
  EXPECT_EQ(stats_of(store).objects, 1u);
  EXPECT_EQ(stats_of(store).evicted_objects, 4u);
}

TEST(ObjectStore, CheckpointsAreDistinctKeys) {
  ObjectStore store(8 * page);
  store.commit(store_pages(store, {name(1, 0), name(1, 1), name(2, 0)}));
  EXPECT_EQ(stats_of(store).checkpoints, 2u);
}

} // namespace
} // namespace hitproof::engine

int main(int argc, char** argv) {
  using namespace hitproof::engine;
  return run_tests_on_sim(argc, argv);
}
