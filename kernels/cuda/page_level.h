// A level of few nodes by a whole block, where time counts and not work: a warp that is alone with
// its nodes has every block's message schedule to make before it can go on. But schedules depend on
// the children alone, so that four warps make those of a node's four blocks at once, and then one
// does the rounds.
#pragma once

#include "kernels/cuda/page_climb.h"

namespace hitproof::kernels {

// Places that a block takes up at once: enough for the nodes over a tile of one or two pages, or
// over those of a page of 1.5 MiB, with their parts.
inline constexpr std::uint32_t level_places = 24;
static_assert(node_pairs * warp_lanes == tree_threads && level_places <= warp_lanes);

// Word plus constant, of four rounds each, of a node's blocks; the one behind the pairs is a full
// node's last.
struct LevelSchedule {
  Quad sum[node_pairs + 1][16][level_places];
};

// Processors to count with in shape_of, of a device whose processors have `shared` bytes each for
// blocks: none where the blocks of a list of few would not all be at work at once.
HITPROOF_BOTH std::uint32_t processors_for_few(std::uint32_t processors, std::uint32_t shared) {
  constexpr std::size_t block = sizeof(TreeTile) + sizeof(LevelSchedule) + 2048; // and the system's
  return shared >= (few_tiles + 1) * block ? processors : 0;
}

// Places of the level over `step`: its nodes and, behind them, its parts.
HITPROOF_BOTH std::uint32_t places_over(const TreeTile& tile, std::uint32_t step) {
  if (tile.runs == 0) return 0;
  const std::uint32_t order = tile.runs - 1;
  const TreeRun& last = tile.run[tile.order[order]];
  return first_at(last, order, step + 1) + nodes_at(last, step + 1) + tile.runs;
}

// The schedule of block `pair` of the node at `place`, and of its last one with the last pair.
// Returns what the place makes of the level. A barrier before and behind it.
HITPROOF_BOTH ClimbNode schedule_pair(const TreeTile& tile, std::uint32_t step, std::uint32_t place,
                                      std::uint32_t pair, LevelSchedule& schedule) {
  const ClimbNode n = climb_node(tile, step, place);
  if (n.nothing || n.of.count == 1 || pair >= node_blocks(n.of.count)) return n;
  const std::uint32_t at = place % level_places;
  std::uint32_t words[pair_words] = {}, before[child_words], w[16];
  before[child_words - 1] = node_prefix;
  if (pair != 0) get_child(tile, n.of, step, 2 * pair - 1, before);
  HITPROOF_UNROLL
  for (std::uint32_t half = 0; half < 2; ++half)
    if (2 * pair + half < n.of.count)
      get_child(tile, n.of, step, 2 * pair + half, words + half * child_words);
  node_block(words, before[child_words - 1], n.of.count, pair, w);
  if (2 * pair + 2 == tree_arity) {
    const std::uint64_t row = end_row(Sha256End::node, words[pair_words - 1] & 0xffu);
    HITPROOF_UNROLL
    for (std::uint32_t quad = 0; quad < 16; ++quad)
      ask_quad(schedule.sum[node_pairs][quad][at], row + sizeof(Quad) * quad);
  }
  HITPROOF_ROLLED
  for (std::uint32_t quad = own(0); quad < 16; quad += 4) {
    const std::uint32_t one = take_one();
    HITPROOF_UNROLL
    for (std::uint32_t i = 0; i < 4; ++i) {
      const Quad k = sha256_constant(quad + i);
      Quad sums;
      HITPROOF_UNROLL
      for (std::uint32_t t = 0; t < 4; ++t)
        sums.word[t] = add(one, w[4 * i + t], k.word[t]);
      schedule.sum[pair][quad + i][at] = sums;
    }
    HITPROOF_UNROLL
    for (std::uint32_t t = 0; t < 16; ++t)
      w[t] = scheduled(one, w, t);
  }
  await_stage();
  return n;
}

// The rounds of `blocks` over their schedules.
HITPROOF_BOTH void sha256_scheduled(std::uint32_t (&state)[8], std::uint32_t blocks,
                                    const LevelSchedule& schedule, std::uint32_t at) {
  sha256_start(state);
  HITPROOF_ROLLED
  for (std::uint32_t block = 0; block < blocks; ++block) {
    Sha256Words s{state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]};
    HITPROOF_ROLLED
    for (std::uint32_t quad = 0; quad < 16; quad += 4) {
      const std::uint32_t one = take_one();
      Quad sums[4];
      HITPROOF_UNROLL
      for (std::uint32_t i = 0; i < 4; ++i)
        sums[i] = schedule.sum[block][quad + i][at];
      s.rounds<true>(one, sums);
    }
    s.add_to(state);
  }
}

// The node at `place`, whose schedules are made. `n`: what schedule_pair returned for it. A barrier
// before and behind it.
HITPROOF_BOTH void climb_scheduled(TreeTile& tile, const TreeTarget& to, std::uint32_t step,
                                   std::uint32_t place, const ClimbNode& n,
                                   const LevelSchedule& schedule) {
  if (n.nothing) return;
  const std::uint32_t count = n.of.count;
  std::uint32_t state[8];
  if (count == 1)
    get_child(tile, n.of, step, 0, state);
  else
    sha256_scheduled(state, node_blocks(count) + (count == tree_arity ? 1 : 0), schedule,
                     place % level_places);
  settle(tile, to, step, place, n, state);
}

} // namespace hitproof::kernels
