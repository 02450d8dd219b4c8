// Four rank processes and a cache server process on preset micro, driven without the front.
#include "tests/runtime/mini_front.h"
#include "tests/runtime/sim_main.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <signal.h>
#include <unistd.h>

namespace hitproof::engine {
namespace {

std::vector<int32_t> prompt_of(size_t tokens, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> prompt(tokens);
  for (int32_t& t : prompt)
    t = static_cast<int32_t>(random() % 500);
  return prompt;
}

uint32_t strict(size_t tokens, uint32_t chunk) {
  return static_cast<uint32_t>((tokens - 1) / chunk) * chunk;
}

TEST(Ranks, AReloadFromTheCacheServerGivesTheSameTokensAndLogits) {
  ServerProcess server(uint64_t{64} << 20);
  MiniFront front({}, &server);
  const uint32_t c = front.chunk();
  uint32_t seed = 0;
  for (const uint32_t n : {2 * c - 1, 2 * c, 2 * c + 1, 3 * c + 5}) {
    const auto prompt = prompt_of(n, ++seed);
    const Generated cold = front.generate(prompt, 24);
    EXPECT_EQ(cold.saves.size(), (n + 23) / c) << n;
    for (const TransferResult& save : cold.saves)
      EXPECT_EQ(save.copied, 70u);
    const uint32_t found = front.lookup(prompt, false);
    ASSERT_EQ(found, strict(n, c)) << n;
    const Generated reload = front.generate(prompt, 24, found);
    EXPECT_EQ(reload, cold) << n;
    ASSERT_EQ(reload.loads.size(), 1u);
    EXPECT_EQ(reload.loads[0].copied, 24 * found / c + 46);
    for (const TransferResult& save : reload.saves)
      EXPECT_EQ(save.held, 70u);
  }
  EXPECT_EQ(front.shut_down(), std::vector<int>(MiniFront::ranks, 0));
}

TEST(Ranks, AStateOneTokenAheadGivesOtherLogits) {
  ServerProcess server(uint64_t{64} << 20);
  MiniFront front({}, &server);
  const uint32_t n = 2 * front.chunk();
  const auto prompt = prompt_of(n, 21);
  const Generated cold = front.generate(prompt, 16);
  ASSERT_EQ(front.lookup(prompt, true), n);
  EXPECT_FALSE(front.generate(prompt, 16, n) == cold);
}

TEST(Ranks, TwoEnginesOfOneSeedAgreeAndTheConnectorChangesNothing) {
  ServerProcess server(uint64_t{64} << 20);
  const auto prompt = prompt_of(300, 5);
  MiniFront with({}, &server);
  MiniFront without({}, nullptr);
  const Generated a = with.generate(prompt, 40);
  const Generated b = without.generate(prompt, 40);
  EXPECT_EQ(a, b);
  EXPECT_EQ(with.ready()[0].weights, without.ready()[0].weights);
  MiniFront other({.seed = 2}, nullptr);
  EXPECT_NE(other.ready()[0].weights, with.ready()[0].weights);
  EXPECT_FALSE(other.generate(prompt, 8) == without.generate(prompt, 8));
}

// As on a GPU: the model is called on the rank's own thread, sums go through device memory.
TEST(Ranks, AModelWithDeviceKernelsGivesTheSameTokensAndLogits) {
  ServerProcess server(uint64_t{64} << 20);
  MiniFront plain({}, nullptr);
  MiniFront front({.device_kernels = true}, &server);
  const auto prompt = prompt_of(2 * front.chunk() + 5, 31);
  const Generated cold = front.generate(prompt, 24);
  const Generated same = plain.generate(prompt, 24);
  EXPECT_EQ(cold.tokens, same.tokens);
  EXPECT_EQ(cold.logits, same.logits);
  const uint32_t found = front.lookup(prompt, false);
  ASSERT_EQ(found, 2 * front.chunk());
  const Generated reload = front.generate(prompt, 24, found);
  EXPECT_EQ(reload.tokens, cold.tokens);
  EXPECT_EQ(reload.logits, cold.logits);
  EXPECT_EQ(front.shut_down(), std::vector<int>(MiniFront::ranks, 0));
}

// With a fake of NCCL, which sums in an order of its own: other bits than rank order, twice the
// same.
TEST(Ranks, AModelOverNcclAgreesWithItselfAndSharesNothingWithRankOrder) {
  setenv("HITPROOF_NCCL", HITPROOF_FAKE_NCCL_PATH, 1);
  setenv("HITPROOF_FAKE_NCCL", "now", 1);
  const MiniFront::Options over_nccl{.device_kernels = true, .collectives = "nccl"};
  ServerProcess server(uint64_t{64} << 20);
  MiniFront front(over_nccl, &server);
  MiniFront again(over_nccl, nullptr);
  MiniFront plain({}, nullptr);
  const auto prompt = prompt_of(2 * front.chunk() + 5, 33);
  const Generated cold = front.generate(prompt, 24);
  EXPECT_EQ(cold, again.generate(prompt, 24));
  EXPECT_NE(cold.logits, plain.generate(prompt, 24).logits);
  const uint32_t found = front.lookup(prompt, false);
  ASSERT_EQ(found, 2 * front.chunk());
  EXPECT_EQ(front.generate(prompt, 24, found), cold);
  const auto numerics = [](const MiniFront& of) {
    for (const auto& [name, digest] : of.ready()[0].key_inputs)
      if (name == "numerics") return digest;
    return Digest{};
  };
  EXPECT_EQ(numerics(front), numerics(again));
  EXPECT_NE(numerics(front), numerics(plain));
  EXPECT_EQ(front.shut_down(), std::vector<int>(MiniFront::ranks, 0));
}

TEST(Ranks, DraftsChangeNoToken) {
  const auto prompt = prompt_of(200, 6);
  MiniFront with({}, nullptr);
  MiniFront without({.drafts = false}, nullptr);
  EXPECT_EQ(with.generate(prompt, 64).tokens, without.generate(prompt, 64).tokens);
}

// What a rank says instead of RankReady.
std::string refusal(const MiniFront::Options& options) {
  try {
    const MiniFront front(options, nullptr);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "started";
}

TEST(Ranks, AProfileThatIsNotRecordedIsRefused) {
  const std::string unknown = refusal({.profile = {{"no-such-choice", "8"}}});
  EXPECT_NE(unknown.find("unknown kernel choice 'no-such-choice'"), std::string::npos) << unknown;
  MiniFront sound({}, nullptr);
  std::vector<NamedText> profile = sound.ready()[0].profile;
  ASSERT_EQ(profile.size(), 7u);
  const std::string missing = profile.back().first;
  profile.pop_back();
  const std::string unrecorded = refusal({.profile = profile});
  EXPECT_NE(unrecorded.find(missing + " is not recorded"), std::string::npos) << unrecorded;
}

TEST(Ranks, UnknownNamesAreRefused) {
  EXPECT_NE(refusal({.break_name = "no-such-break"}).find("known breaks"), std::string::npos);
  EXPECT_NE(refusal({.num_blocks = 1}).find("two blocks"), std::string::npos);
}

TEST(Ranks, AKilledRankEndsTheOthers) {
  MiniFront front({}, nullptr);
  front.kill_rank(2);
  EXPECT_THROW((void)front.generate(prompt_of(100, 1), 4), std::runtime_error);
  // Each notices by itself; one that is told to end before it did would end in order.
  for (const int rank : {0, 1, 3}) {
    try {
      while (front.rank(rank).receive(20000)) {
      }
    } catch (const std::exception&) { // its end closed the channel
    }
  }
  for (const int status : front.shut_down())
    EXPECT_NE(status, 0);
}

TEST(Ranks, AKilledCacheServerIsReportedByItsRanks) {
  ServerProcess server(uint64_t{64} << 20);
  MiniFront front({}, &server);
  server.kill(SIGKILL);
  server.exit_status();
  // Each rank notices by itself; one that is told to end before it did would end in order.
  for (int rank = 0; rank < 4; ++rank) {
    const auto told = front.rank(rank).receive(20000);
    ASSERT_TRUE(told.has_value()) << rank;
    const auto* failure = std::get_if<Failure>(&*told);
    ASSERT_NE(failure, nullptr) << rank;
    EXPECT_NE(failure->message.find("cache server has gone"), std::string::npos)
        << failure->message;
  }
  for (const int status : front.shut_down())
    EXPECT_EQ(status, 1);
}

TEST(Ranks, BrokenConnectorsStillRun) {
  for (const char* name : {"save-no-wait", "load-read-early", "state-wrong-boundary",
                           "tail-contiguous-write", "tail-wrong-announce", "key-omits-weights"}) {
    ServerProcess server(uint64_t{64} << 20);
    MiniFront front({.break_name = name}, &server);
    const auto prompt = prompt_of(2 * front.chunk() + 1, 8);
    front.generate(prompt, 4);
    const uint32_t found = front.lookup(prompt, false);
    EXPECT_EQ(found, 2 * front.chunk()) << name;
    front.generate(prompt, 4, found);
    EXPECT_EQ(front.shut_down(), std::vector<int>(MiniFront::ranks, 0)) << name;
  }
}

} // namespace
} // namespace hitproof::engine

int main(int argc, char** argv) {
  using namespace hitproof::engine;
  return run_tests_on_sim(argc, argv, {serve_as_rank, serve_as_cache_server});
}
