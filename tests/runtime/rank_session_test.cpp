// The cache server's side of one rank, in this process; the rank's memory and events in another.
#include "engine/runtime/rank_session.h"
#include "probes/hitproof.h"
#include "tests/runtime/owner.h"
#include "tests/runtime/probe_log.h"
#include "tests/runtime/sim_main.h"

#include <gtest/gtest.h>
#include <thread>

namespace hitproof::engine {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t page_bytes = 1024;
constexpr uint32_t pages = 16;
constexpr uint32_t row = 64;

Digest key(uint8_t first) {
  Digest d{};
  d[0] = first;
  return d;
}

// Two entries, MLA and state, a region of 16 pages each.
class RankSessionTest : public testing::Test {
 protected:
  explicit RankSessionTest(uint64_t limit = 64 * page_bytes, Break b = Break::none)
      : owner_(2 * pages * page_bytes), state_(limit, b) {
    auto [here, there] = socket_pair();
    channel_ = Channel(std::move(here), "rank");
    peer_ = Channel(std::move(there), "cache server");
    Register r;
    r.instance = 1;
    r.rank = 2;
    r.allocations = {{owner_.memory(), 2 * pages * page_bytes}};
    for (const uint8_t kind : {HITPROOF_ENTRY_MLA, HITPROOF_ENTRY_STATE}) {
      EntryExport e;
      e.name = kind == HITPROOF_ENTRY_MLA ? "layers.3.mla" : "layers.0.state";
      e.offset = kind == HITPROOF_ENTRY_MLA ? 0 : pages * page_bytes;
      e.page_stride = e.page_bytes = e.content_bytes = page_bytes;
      e.row_bytes = row;
      e.num_pages = pages;
      e.tokens_per_page = 16;
      e.kind = kind;
      e.transfer_group = kind == HITPROOF_ENTRY_MLA ? 0 : 3;
      r.entries.push_back(e);
    }
    take_probe_log();
    session_ = std::make_unique<RankSession>(state_, channel_, r);
    EXPECT_EQ(peer_.expect<Registered>().limit_bytes, limit);
  }

  static uint64_t place(uint16_t entry, uint32_t block) {
    return (entry * pages + block) * page_bytes;
  }
  void fill(uint16_t entry, uint32_t block, uint8_t value) {
    owner_.fill(place(entry, block), page_bytes, value);
  }
  std::vector<uint8_t> content(uint16_t entry, uint32_t block) {
    return owner_.read(place(entry, block), page_bytes);
  }

  Save save_order(uint64_t transfer, uint8_t k, uint32_t block) {
    return {
        transfer,       7, 0, 16, {key(k), 5}, {{0, 0, block, 1, 0, 16}, {1, 0, block, 1, 0, 16}},
        owner_.record()};
  }
  Load load_order(uint64_t transfer, uint8_t k, uint32_t block) {
    return {
        transfer,       7, 0, 16, {{key(k), 5}}, {{0, 0, block, 2, 0, 16}, {1, 0, block, 2, 0, 16}},
        owner_.record()};
  }
  bool holds(uint8_t k) {
    Object* object = state_.store.pin({key(k), 0, unknown_token});
    if (object == nullptr) return false;
    Object* const list[] = {object};
    state_.store.unpin(list);
    return true;
  }

  Owner owner_;
  ServerState state_;
  Channel channel_, peer_;
  std::unique_ptr<RankSession> session_;
};

TEST_F(RankSessionTest, WhatWasSavedIsLoadedByteForByte) {
  fill(0, 3, 0xa1);
  fill(1, 3, 0xa2);
  const SaveReply saved = session_->save(save_order(1, 10, 3));
  EXPECT_EQ(saved.copied, 2u);
  EXPECT_EQ(saved.held, 0u);
  ASSERT_TRUE(owner_.wait(saved.event));
  session_->acknowledge(1);
  const LoadReply loaded = session_->load(load_order(2, 10, 9));
  EXPECT_EQ(loaded.error, "");
  ASSERT_TRUE(owner_.wait(loaded.event));
  EXPECT_EQ(content(0, 9), std::vector<uint8_t>(page_bytes, 0xa1));
  EXPECT_EQ(content(1, 9), std::vector<uint8_t>(page_bytes, 0xa2));
  EXPECT_EQ(content(0, 10), std::vector<uint8_t>(page_bytes, 0));
}

TEST_F(RankSessionTest, AnnouncementsComeInTheDocumentedOrder) {
  ASSERT_TRUE(owner_.wait(session_->save(save_order(1, 10, 3)).event));
  EXPECT_EQ(take_probe_log(),
            (std::vector<std::string>{"entry 0 origin 1 rank 2", "entry 1 origin 1 rank 2",
                                      "transfer 1 save rank 2 [0,16) boundary 16 next 5",
                                      "page 1 entry 0 block 3 held 0",
                                      "page 1 entry 1 block 3 held 0", "ready 1", "done 1"}));
  // Held pages are announced too, and the answer carries a completion event all the same.
  const SaveReply again = session_->save(save_order(2, 10, 4));
  EXPECT_EQ(again.held, 2u);
  EXPECT_EQ(again.copied, 0u);
  ASSERT_TRUE(owner_.wait(again.event));
  EXPECT_EQ(take_probe_log("page"), (std::vector<std::string>{"page 2 entry 0 block 4 held 1",
                                                              "page 2 entry 1 block 4 held 1"}));
  ASSERT_TRUE(owner_.wait(session_->load(load_order(3, 10, 5)).event));
  EXPECT_EQ(take_probe_log(),
            (std::vector<std::string>{"transfer 3 load rank 2 [0,16) boundary 16 next 5",
                                      "page 3 entry 0 block 5 held 0",
                                      "page 3 entry 1 block 5 held 0", "ready 3", "done 3"}));
}

TEST_F(RankSessionTest, ASaveWaitsForItsProducerAndIsInvisibleUntilDone) {
  owner_.hold();
  fill(0, 3, 0xb1);
  fill(1, 3, 0xb2);
  const SaveReply saved = session_->save(save_order(1, 11, 3));
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(holds(11));
  EXPECT_NE(session_->load(load_order(2, 11, 9)).error.find("not held"), std::string::npos);
  owner_.release();
  ASSERT_TRUE(owner_.wait(saved.event));
  EXPECT_TRUE(holds(11)) << "whoever has seen the completion event finds the object";
  ASSERT_TRUE(owner_.wait(session_->load(load_order(3, 11, 9)).event));
  EXPECT_EQ(content(0, 9), std::vector<uint8_t>(page_bytes, 0xb1));
}

TEST_F(RankSessionTest, ALoadWaitsForWorkThatStillUsesItsDestination) {
  fill(0, 3, 0xc1);
  ASSERT_TRUE(owner_.wait(session_->save(save_order(1, 12, 3)).event));
  owner_.hold();
  fill(0, 9, 0xee);
  const LoadReply loaded = session_->load(load_order(2, 12, 9));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(content(0, 9), std::vector<uint8_t>(page_bytes, 0));
  owner_.release();
  ASSERT_TRUE(owner_.wait(loaded.event));
  EXPECT_EQ(content(0, 9), std::vector<uint8_t>(page_bytes, 0xc1));
}

TEST_F(RankSessionTest, BadPagesAreRefused) {
  EXPECT_THROW((void)session_->save(save_order(1, 10, 0)), ProtocolError) << "the null block";
  EXPECT_THROW((void)session_->save(save_order(1, 10, pages)), ProtocolError);
  Save unknown = save_order(1, 10, 3);
  unknown.pages[0].entry = 2;
  EXPECT_THROW((void)session_->save(unknown), ProtocolError);
  Save twice = save_order(1, 10, 3);
  twice.pages[1].entry = 0;
  EXPECT_THROW((void)session_->save(twice), ProtocolError);
  (void)session_->save(save_order(1, 10, 3));
  EXPECT_THROW((void)session_->save(save_order(1, 10, 3)), ProtocolError)
      << "the same transfer twice";
}

TEST_F(RankSessionTest, AKilledRankDoesNotHoldTheServer) {
  owner_.hold();
  fill(0, 3, 0xd1);
  (void)session_->save(save_order(1, 13, 3));
  owner_.kill();
  const auto begin = std::chrono::steady_clock::now();
  session_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  EXPECT_FALSE(holds(13)) << "the copy never had its source";
}

class SmallServer : public RankSessionTest {
 protected:
  SmallServer() : RankSessionTest(4 * page_bytes) {}
};

TEST_F(SmallServer, TheOldestCheckpointMakesRoom) {
  for (uint8_t k = 1; k <= 3; ++k)
    ASSERT_TRUE(owner_.wait(session_->save(save_order(k, k, k)).event));
  EXPECT_FALSE(holds(1));
  EXPECT_TRUE(holds(2));
  EXPECT_TRUE(holds(3));
}

TEST_F(SmallServer, ASaveWithoutRoomIsRefusedAndStillCompletes) {
  for (uint8_t k = 1; k <= 2; ++k) {
    ASSERT_TRUE(owner_.wait(session_->save(save_order(k, k, k)).event));
    for (const uint16_t e : {0, 1})
      ASSERT_NE(state_.store.pin({key(k), e, unknown_token}), nullptr);
  }
  take_probe_log();
  const SaveReply refused = session_->save(save_order(9, 9, 9));
  EXPECT_TRUE(refused.refused);
  EXPECT_EQ(refused.copied + refused.held, 0u);
  EXPECT_TRUE(owner_.wait(refused.event));
  EXPECT_EQ(take_probe_log(),
            (std::vector<std::string>{"transfer 9 save rank 2 [0,16) boundary 16 next 5", "ready 9",
                                      "done 9"}));
}

template <Break B> class Broken : public RankSessionTest {
 protected:
  Broken() : RankSessionTest(64 * page_bytes, B) {
    fill(0, 3, 0xe1);
    fill(1, 3, 0xe2);
  }
  void round_trip() {
    ASSERT_TRUE(owner_.wait(session_->save(save_order(1, 10, 3)).event));
    ASSERT_TRUE(owner_.wait(session_->load(load_order(2, 10, 9)).event));
  }
};

using SkipsEntry = Broken<Break::load_skip_entry>;
TEST_F(SkipsEntry, OneEntryIsAnnouncedAndNotCopied) {
  round_trip();
  EXPECT_EQ(content(0, 9), std::vector<uint8_t>(page_bytes, 0));
  EXPECT_EQ(content(1, 9), std::vector<uint8_t>(page_bytes, 0xe2));
}

using ShortRow = Broken<Break::copy_short_row>;
TEST_F(ShortRow, TheLastRowIsMissing) {
  round_trip();
  std::vector<uint8_t> want(page_bytes, 0xe1);
  std::fill(want.end() - row, want.end(), uint8_t{0});
  EXPECT_EQ(content(0, 9), want);
  EXPECT_EQ(content(1, 9), std::vector<uint8_t>(page_bytes, 0xe2));
}

using WrongBlock = Broken<Break::load_wrong_block>;
TEST_F(WrongBlock, OnePageLandsNextDoor) {
  round_trip();
  EXPECT_EQ(content(0, 9), std::vector<uint8_t>(page_bytes, 0));
  EXPECT_EQ(content(0, 10), std::vector<uint8_t>(page_bytes, 0xe1));
}

using NoProducerWait = Broken<Break::save_no_producer_wait>;
TEST_F(NoProducerWait, TheCopyRunsAheadOfItsProducer) {
  owner_.record();
  owner_.hold();
  const SaveReply saved = session_->save(save_order(1, 10, 3));
  ASSERT_TRUE(owner_.wait(saved.event));
  EXPECT_TRUE(holds(10));
  owner_.release();
}

} // namespace
} // namespace hitproof::engine

int main(int argc, char** argv) {
  using namespace hitproof::engine;
  return run_tests_on_sim(argc, argv, {serve_as_owner});
}
