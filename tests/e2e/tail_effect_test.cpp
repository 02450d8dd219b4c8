// Proof that the address at which tails are read is the one that the computation uses: a byte
// flipped there in a decode step inside a pool changes the next pooled key; flipped at the naive
// address it does not.
#include "schema/recording.h"
#include "tests/e2e/run.h"

#include <gtest/gtest.h>
#include <map>
#include <tuple>

namespace hitproof::e2e {
namespace {

using schema::rec::pooled_key;
using schema::rec::tail_flip;
using Place = std::tuple<uint64_t, int, int, uint32_t>; // request, rank, indexer entry, position

struct Observed {
  std::map<Place, std::vector<uint8_t>> keys;
  std::vector<schema::Row<tail_flip>> flips;
};

Observed study(const TempDir& dir, const std::string& mode) {
  const std::string out = dir.path(mode);
  Outcome outcome =
      run(micro_study("boundary", {"--lengths", "257,258", "--tokens", "12", "--save-delay-ms", "0",
                                   "--arms", "candidate", "--tail-effect", mode, "--out", out}));
  // The audit of a diagnostic run never passes: it may have changed a result.
  EXPECT_NE(outcome.exit_code, 0) << mode << outcome.out << outcome.err;
  EXPECT_NE(outcome.exit_code, 2) << mode << outcome.out << outcome.err;
  Observed result;
  auto recording = schema::Recording::open_existing(out + "/candidate");
  EXPECT_TRUE(recording.ok()) << recording.status().message();
  if (!recording.ok()) return result;
  EXPECT_EQ(recording->get_or("tail_effect", ""), mode);
  auto keys = recording->read<pooled_key>();
  EXPECT_TRUE(keys.ok());
  for (const auto& k : *keys)
    result.keys[{k.request, k.rank, k.entry, k.position}] = {std::begin(k.digest),
                                                             std::end(k.digest)};
  auto flips = recording->read<tail_flip>();
  EXPECT_TRUE(flips.ok());
  result.flips = *flips;
  return result;
}

// Tail entry j belongs to indexer entry j: 58..69 and 12..23. The first of them is the first layer
// with a tail, whose inputs no other flip of the same step can reach.
constexpr int first_tail = 58, first_indexer = 12;

// Pooled keys right after a flip in the first tail layer: how many equal those of the run without
// flips.
std::pair<int, int> equal_after_flip(const Observed& run, const Observed& observed) {
  int equal = 0, compared = 0;
  for (const auto& flip : run.flips) {
    if (flip.entry != first_tail) continue;
    const uint32_t completes = flip.position / 4 * 4 + 3;
    const Place place{flip.request, flip.rank, first_indexer, completes};
    if (!run.keys.count(place) || !observed.keys.count(place)) continue;
    ++compared;
    equal += run.keys.at(place) == observed.keys.at(place);
  }
  return {equal, compared};
}

TEST(TailEffect, TheEffectiveAddressIsTheOneThatCounts) {
  TempDir dir("tail");
  const Observed observed = study(dir, "observe"), effective = study(dir, "effective"),
                 naive = study(dir, "naive");
  EXPECT_TRUE(observed.flips.empty());
  ASSERT_FALSE(effective.flips.empty());
  ASSERT_FALSE(naive.flips.empty());
  const auto [changed_equal, changed] = equal_after_flip(effective, observed);
  const auto [same_equal, same] = equal_after_flip(naive, observed);
  EXPECT_GE(changed, 8);
  EXPECT_GE(same, 8);
  EXPECT_EQ(changed_equal, 0)
      << "a flip at the effective address left the next pooled key as it was";
  EXPECT_EQ(same_equal, same) << "a flip at the naive address changed the next pooled key";
}

} // namespace
} // namespace hitproof::e2e
