// The rank's connector against a cache server process, over memory with the real geometry of preset
// micro.
#include "engine/runtime/connector.h"
#include "engine/runtime/keys.h"
#include "tests/runtime/probe_log.h"
#include "tests/runtime/server_process.h"
#include "tests/runtime/sim_main.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <signal.h>
#include <thread>

namespace hitproof::engine {
namespace {

constexpr int blocks = 24;

Digest prefix(uint8_t chunk) { return text_digest(std::string(1, static_cast<char>(chunk))); }

// One rank of an engine: memory, stream, connector, and a front's connection.
struct Engine {
  Engine(const ServerProcess& server, uint64_t number, Break broken = Break::none,
         const std::string& seed = "seed 1")
      : geometry(find_preset("micro"), 4, 1), memory(geometry, blocks),
        connector({.rank = 0, .tp = 1, .instance = number, .broken = broken, .break_name = ""},
                  geometry, memory, server.connect(),
                  {{"weights", text_digest(seed)}, {"rank", text_digest("0")}}),
        front(server.connect()), chunk(static_cast<uint32_t>(geometry.block_tokens)) {
    front.send(Hello{number});
    front.expect<Done>();
  }

  // Every content byte of the pages named becomes `value`.
  void write(const BlockRef& attention, const BlockRef& tail, int first_state, uint8_t value) {
    for (const CacheEntry& e : geometry.entries) {
      const int block = block_of(e, attention.block, tail.block, first_state);
      device::enqueue(compute, [p = memory.page(e, block), n = e.page_bytes, value] {
        std::memset(p, value, n);
      });
    }
  }
  int block_of(const CacheEntry& e, int attention, int tail, int first_state) const {
    if (e.kind == EntryKind::tail) return tail;
    return e.kind == EntryKind::state ? first_state + e.engine_group - 2 : attention;
  }
  bool filled_with(const CacheEntry& e, int block, uint8_t value) const {
    const std::byte* p = memory.page(e, block);
    return std::all_of(p, p + e.page_bytes, [value](std::byte b) { return b == std::byte{value}; });
  }
  static std::array<BlockRef, state_groups> states(int first) {
    return {{{first, 1}, {first + 1, 1}, {first + 2, 1}}};
  }

  SaveOrder save_order(uint64_t transfer, uint8_t number, int attention, int tail,
                       int first_state) const {
    return {transfer,       7,         number * chunk,     prefix(number),
            {attention, 1}, {tail, 1}, states(first_state)};
  }
  // Saves checkpoint `number` (counted from 1), whose pages are filled with the number.
  TransferResult save(uint64_t transfer, uint8_t number, uint32_t next_token = 5) {
    write({2, 1}, {3, 1}, 4, number);
    connector.begin_saves({save_order(transfer, number, 2, 3, 4)}, {next_token}, compute);
    return connector.finish_saves().at(0);
  }
  LookupReply lookup(uint32_t prompt_tokens, bool full, uint32_t next_token = 5) {
    Lookup question{++lookups, 9, prompt_tokens, chunk, full, {}};
    for (uint8_t k = 1; k * chunk <= prompt_tokens; ++k)
      question.chunks.push_back(
          {prefix(k), k * chunk < prompt_tokens ? next_token : unknown_token});
    front.send(question);
    return front.expect<LookupReply>();
  }
  Stats stats() {
    front.send(StatsRequest{});
    return front.expect<Stats>();
  }

  CacheGeometry geometry;
  RankMemory memory;
  device::Stream compute;
  Connector connector;
  Channel front;
  uint32_t chunk;
  uint64_t lookups = 0;
};

class ConnectorTest : public testing::Test {
 protected:
  ConnectorTest() { take_probe_log(); }
  ServerProcess server_{uint64_t{8} << 20};
};

TEST_F(ConnectorTest, TwoChunksComeBackAsTheyWere) {
  Engine engine(server_, 1);
  EXPECT_EQ(engine.save(1, 1).copied, 70u);
  EXPECT_EQ(engine.save(2, 2).copied, 70u);
  engine.write({2, 1}, {3, 1}, 4, 0xff);
  LoadOrder order{
      3, 9, 0, 2 * engine.chunk, {{prefix(1), 5}, {prefix(2), 5}}, {{10, 2}, {11, 2}}, {12, 2}, {}};
  order.state = Engine::states(13);
  engine.connector.begin_loads(1, {order}, engine.compute);
  EXPECT_EQ(engine.connector.finish_loads().at(0).copied, 24u * 2 + 46);
  for (const CacheEntry& e : engine.geometry.entries) {
    const bool attention = e.kind == EntryKind::mla || e.kind == EntryKind::indexer;
    EXPECT_TRUE(!attention || engine.filled_with(e, 10, 1)) << e.name;
    EXPECT_TRUE(engine.filled_with(e, engine.block_of(e, 11, 12, 13), 2)) << e.name;
  }
}

TEST_F(ConnectorTest, ALoadOfLaterChunksBringsTheirPagesAndTheLastState) {
  Engine engine(server_, 1);
  engine.save(1, 1);
  engine.save(2, 2);
  LoadOrder order{3,         9,       engine.chunk,      2 * engine.chunk, {{prefix(2), 5}},
                  {{11, 2}}, {12, 2}, Engine::states(13)};
  engine.connector.begin_loads(1, {order}, engine.compute);
  EXPECT_EQ(engine.connector.finish_loads().at(0).copied, 70u);
  EXPECT_TRUE(engine.filled_with(engine.geometry.mla(0), 11, 2));
}

TEST_F(ConnectorTest, ASaveOfWhatIsHeldCopiesNothingAndIsWaitedFor) {
  Engine engine(server_, 1);
  engine.save(1, 1);
  take_probe_log();
  const TransferResult again = engine.save(2, 1);
  EXPECT_EQ(again.held, 70u);
  EXPECT_EQ(again.copied, 0u);
  EXPECT_EQ(take_probe_log("wait"), std::vector<std::string>{"wait 2 request 7 kind 0"});
}

TEST_F(ConnectorTest, KeysAreToldWithEveryInputOnce) {
  Engine engine(server_, 1);
  engine.save(1, 1);
  engine.save(2, 1);
  const auto log = take_probe_log("key");
  ASSERT_EQ(log.size(), 3u);
  EXPECT_NE(log[0].find("weights"), std::string::npos);
  EXPECT_NE(log[1].find("rank"), std::string::npos);
  EXPECT_NE(log[2].find("prefix"), std::string::npos);
}

TEST_F(ConnectorTest, StrictLookupLeavesTheLastTokenToCompute) {
  Engine engine(server_, 1);
  engine.save(1, 1);
  engine.save(2, 2);
  const uint32_t c = engine.chunk;
  EXPECT_EQ(engine.lookup(c - 1, false).answer, 0u);
  EXPECT_EQ(engine.lookup(c, false).answer, 0u);
  EXPECT_EQ(engine.lookup(c, true).answer, c);
  EXPECT_EQ(engine.lookup(2 * c, false).answer, c);
  EXPECT_EQ(engine.lookup(2 * c, true).answer, 2 * c);
  EXPECT_EQ(engine.lookup(2 * c + 1, false).answer, 2 * c);
  EXPECT_EQ(engine.lookup(3 * c + 1, false).answer, 2 * c) << "the third was never saved";
  EXPECT_EQ(engine.lookup(0, false).answer, 0u);
  const LookupReply reply = engine.lookup(2 * c + 1, false);
  ASSERT_EQ(reply.answers.size(), 1u);
  for (const uint32_t group : reply.answers[0])
    EXPECT_EQ(group, 2 * c);
}

TEST_F(ConnectorTest, WhatDependsOnTheNextTokenIsNotFoundUnderAnother) {
  Engine engine(server_, 1);
  engine.save(1, 1, 5);
  const LookupReply other = engine.lookup(2 * engine.chunk - 1, false, 6);
  EXPECT_EQ(other.answer, 0u);
  EXPECT_EQ(other.answers[0][3], engine.chunk) << "states do not depend on it";
  EXPECT_EQ(other.answers[0][0], 0u) << "the MTP layer's page does";
  EXPECT_EQ(engine.lookup(engine.chunk, true).answer, engine.chunk)
      << "a full lookup does not know the next token";
  // The same prefix with another next token stores the three MTP pages anew.
  const TransferResult saved = engine.save(2, 1, 6);
  EXPECT_EQ(saved.copied, 3u);
  EXPECT_EQ(saved.held, 67u);
  EXPECT_EQ(engine.lookup(2 * engine.chunk - 1, false, 6).answer, engine.chunk);
}

TEST_F(ConnectorTest, EnginesWithOtherWeightsDoNotFindEachOthersPages) {
  Engine one(server_, 1, Break::none, "seed 1");
  Engine two(server_, 2, Break::none, "seed 2");
  one.save(1, 1);
  EXPECT_EQ(two.lookup(2 * two.chunk - 1, false).answer, 0u);
  EXPECT_EQ(two.save(2, 1).copied, 70u);
}

TEST_F(ConnectorTest, KeysWithoutWeightsLetThemFind) {
  Engine one(server_, 1, Break::key_omits_weights, "seed 1");
  Engine two(server_, 2, Break::key_omits_weights, "seed 2");
  one.save(1, 1);
  for (const std::string& line : take_probe_log("key"))
    EXPECT_EQ(line.find("weights"), std::string::npos);
  EXPECT_EQ(two.lookup(2 * two.chunk - 1, false).answer, two.chunk);
}

TEST_F(ConnectorTest, ReuseIsToldForEveryPageWhoseBytesAreOverwritten) {
  Engine engine(server_, 1);
  engine.save(1, 1); // attention 2, tail 3, states 4, 5, 6
  take_probe_log();
  engine.connector.announce_reuse(8, {{1, 3}, {2, 4}});
  EXPECT_EQ(take_probe_log("reuse").size(), 12u + 12u);
  engine.connector.announce_reuse(9, {{1, 3}});
  EXPECT_TRUE(take_probe_log("reuse").empty()) << "only the first write counts";
  // Block 2 held attention pages; as a state of group 2 it shares the MLA regions of 11 layers.
  engine.connector.announce_reuse(10, {{4, 2}});
  const auto log = take_probe_log("reuse");
  ASSERT_EQ(log.size(), 11u);
  EXPECT_EQ(log.front(), "reuse 1 step 10 block 2 entry 0");
}

TEST_F(ConnectorTest, ALoadOfWhatIsNotHeldNamesIt) {
  Engine engine(server_, 1);
  LoadOrder order{3, 9, 0, engine.chunk, {{prefix(1), 5}}, {{10, 2}}, {12, 2}, Engine::states(13)};
  try {
    engine.connector.begin_loads(1, {order}, engine.compute);
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("layers.3.mla"), std::string::npos) << e.what();
  }
}

TEST_F(ConnectorTest, MalformedOrdersAreRefused) {
  Engine engine(server_, 1);
  LoadOrder order{
      3, 9, 0, 2 * engine.chunk, {{prefix(1), 5}}, {{10, 2}}, {12, 2}, Engine::states(13)};
  EXPECT_THROW(engine.connector.begin_loads(1, {order}, engine.compute), ProtocolError);
}

TEST_F(ConnectorTest, StatsCount) {
  Engine engine(server_, 1);
  engine.save(1, 1);
  engine.save(2, 1);
  engine.lookup(2 * engine.chunk, false);
  const Stats s = engine.stats();
  EXPECT_EQ(s.limit_bytes, uint64_t{8} << 20);
  EXPECT_EQ(s.objects, 70u);
  EXPECT_EQ(s.checkpoints, 1u);
  EXPECT_EQ(s.saves, 2u);
  EXPECT_EQ(s.lookups, 1u);
  EXPECT_EQ(s.hit_tokens, engine.chunk);
  EXPECT_GE(s.used_bytes,
            engine.geometry.attention_bytes() + engine.geometry.state_and_tail_bytes());
}

TEST_F(ConnectorTest, ARubbishClientDoesNotEndTheServer) {
  Engine engine(server_, 1);
  Channel rubbish = server_.connect();
  rubbish.send(Ack{1});
  EXPECT_TRUE(std::holds_alternative<Failure>(*rubbish.receive()));
  EXPECT_THROW((void)rubbish.receive(), PeerGone);
  EXPECT_EQ(engine.save(1, 1).copied, 70u);
}

TEST_F(ConnectorTest, ASecondRankOfTheSameNumberIsRefused) {
  Engine engine(server_, 1);
  EXPECT_THROW(Engine(server_, 1), std::runtime_error);
  EXPECT_EQ(engine.save(1, 1).copied, 70u);
}

TEST_F(ConnectorTest, AKilledServerIsNoticed) {
  Engine engine(server_, 1);
  engine.save(1, 1);
  server_.kill(SIGKILL);
  server_.exit_status();
  EXPECT_THROW(engine.save(2, 2), std::runtime_error);
}

TEST(ServerEnd, TerminatesInOrderOnSigtermAndWithItsLastFront) {
  ServerProcess first(1 << 20);
  { Engine engine(first, 1); }
  first.kill(SIGTERM);
  EXPECT_EQ(first.exit_status(), 0);
  ServerProcess second(1 << 20, "", true);
  { Engine engine(second, 1); }
  EXPECT_EQ(second.exit_status(), 0);
}

TEST(ServerEnd, AnUnknownBreakIsNamed) {
  ServerProcess server(1 << 20, "no-such-break");
  EXPECT_EQ(server.exit_status(), 1);
}

} // namespace
} // namespace hitproof::engine

int main(int argc, char** argv) {
  using namespace hitproof::engine;
  return run_tests_on_sim(argc, argv, {serve_as_cache_server});
}
