// The Merkle trees of a list of pages, as one thread of a block sees them. A block takes a tile of
// neighbouring nodes (leaf slots first), which falls into runs: what it has of one segment of one
// page. Leaves stand at their slots; above them all runs of the tile close up, level by level in
// shared memory, so that a level takes as few warps as it can: what a level costs is its warps.
//
// Two roots are wanted of a page whose content ends inside it. Every node left of that end is the
// same in both trees; only one node a level, the one over the content's last leaf, differs. It is
// kept as the run's `part`.
#pragma once

#include "kernels/cuda/sha256_tree.h"

namespace hitproof::kernels {

inline constexpr std::uint32_t tile_runs = tile_leaves / slot_step;
inline constexpr std::uint32_t tile_nodes = segment_leaves / slot_step; // of a segment
// A place a leaf, and one a run for its part: place tile_leaves + r has run r's. The threads of the
// last warp have two places, for parts are few and a warp of their own would take registers from
// others.
inline constexpr std::uint32_t tree_threads = tile_leaves;
inline constexpr std::uint32_t tree_places = tile_leaves + warp_lanes;
// Nodes of a level over leaves or over the two rows that a block climbs together: one more than
// their share for each run but the first. With the parts of two rows they fit the places.
inline constexpr std::uint32_t level_nodes = 2 * tile_nodes / tree_arity + 1;
static_assert(level_nodes + 2 <= tree_places);
static_assert(tile_leaves / tree_arity + 2 * tile_runs - 1 <= level_nodes);
static_assert(tile_runs <= 32 && segment_leaves % tile_leaves == 0);
// Nodes stand with a gap behind each group of children, so that the threads of a warp, each at its
// own group, meet different banks.
HITPROOF_BOTH constexpr std::uint32_t stands_at(std::uint32_t node) {
  return node + node / tree_arity;
}

// How blocks take the row of slots. Where tiles are `few`, all their blocks are at work at once,
// and a level is hashed for time (page_level.h). Some processors would have one tile more than
// others then, so the first `quarters` blocks (a multiple of four) take a quarter of a tile each,
// which the block's four warps hash in turn: each scheduler of the processor has a quarter of that
// work.
struct TileShape {
  static constexpr std::uint32_t parts = 4, leaves = tile_leaves / parts;
  std::uint32_t quarters = 0;
  bool few = false;
  // Blocks behind those of the slots, where tiles are few: one for each of the first segments,
  // which goes on to its node once all blocks below are done. If the last of these went on, the
  // slowest processors would get that work as well.
  std::uint32_t climbers = 0;

  HITPROOF_BOTH std::uint32_t begin(std::uint32_t block) const { // slot
    return block < quarters ? block * leaves : (block - quarters) * tile_leaves + quarters * leaves;
  }
  HITPROOF_BOTH std::uint32_t block_of(std::uint32_t slot) const {
    return slot / leaves < quarters ? slot / leaves
                                    : quarters + (slot - quarters * leaves) / tile_leaves;
  }
  HITPROOF_BOTH std::uint32_t blocks(std::uint32_t slots) const {
    return slots == 0 ? 0 : block_of(slots - 1) + 1;
  }
};
static_assert(TileShape::leaves == warp_lanes && TileShape::leaves % slot_step == 0);
// Most whole tiles a processor of a list of few.
inline constexpr std::uint32_t few_tiles = 4;
// The shape for a device of `processors`. The tiles that are left when each has as many whole ones
// as all can have make so many quarters for each, rounded; none is worth it for less than one tile.
// `split`: PageLayout's.
HITPROOF_BOTH TileShape shape_of(std::uint32_t tiles, std::uint32_t processors,
                                 std::uint32_t split) {
  if (tiles >= (few_tiles + 1) * processors) return {};
  if (tiles < processors) return {0, true, split};
  const std::uint32_t each =
      (2 * TileShape::parts * (tiles % processors) + processors) / (2 * processors);
  if (each == TileShape::parts) return {0, true, split};
  return {each * processors / TileShape::parts * TileShape::parts, true, split};
}

// Calls `work` with each place of this thread.
template <class Work> HITPROOF_BOTH void at_places(std::uint32_t thread, const Work& work) {
  HITPROOF_ROLLED
  for (std::uint32_t place = thread; place < tree_places; place += warp_lanes) {
    work(place);
    if (place + warp_lanes < tile_leaves) return;
  }
}

inline constexpr std::uint32_t no_part = 0xffffffffu;

// A node and its part on their way from one leg to the next.
struct alignas(16) TreeNode {
  std::uint32_t node[8], part[8];
};

struct TreeRun {
  std::uint32_t task, nodes; // nodes 0: an empty page
  std::uint32_t first;       // place of its first leaf in the tile
  std::uint32_t part;        // index of the node over the content's last leaf, or no_part
  std::uint32_t target;      // where its node goes in the row of segments
  bool ends;                 // the run is all that there is below that node
  bool root;                 // and that node is the page's root
  std::uint32_t before;      // leaves (or nodes of a row) of the tile's runs before it
  const TreeNode* row;       // where its nodes are before the first level, if not in the tile
};

struct TreeTile {
  // Read one, write the other: one barrier a level.
  std::uint32_t even[8][stands_at(tile_leaves)], odd[8][stands_at(level_nodes)];
  std::uint32_t part[tile_runs][8];
  TreeRun run[tile_runs];
  std::uint32_t run_of[tile_runs]; // by step of slots, of a tile of leaves
  std::uint32_t order[tile_runs];  // the runs that there are, from the left
  std::uint32_t runs, levels;      // levels: until all of them are done
};

struct TreeTarget {
  const PageTask* tasks;
  PageRoots* roots;
  TreeNode* segments;
  TreeNode* row; // over this tile's slots, for what does not end in it
};

HITPROOF_BOTH std::uint32_t smaller(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }

// Node `at` of `level` of the tile.
HITPROOF_BOTH void put_node(TreeTile& tile, std::uint32_t level, std::uint32_t at,
                            const std::uint32_t* state) {
  const bool odd = (level & 1) != 0;
  std::uint32_t* const to = &(odd ? tile.odd[0] : tile.even[0])[stands_at(at)];
  const std::uint32_t stride = odd ? stands_at(level_nodes) : stands_at(tile_leaves);
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    to[i * stride] = state[i];
}
HITPROOF_BOTH void get_node(const TreeTile& tile, std::uint32_t level, std::uint32_t at,
                            std::uint32_t* state) {
  const bool odd = (level & 1) != 0;
  const std::uint32_t* const from = &(odd ? tile.odd[0] : tile.even[0])[stands_at(at)];
  const std::uint32_t stride = odd ? stands_at(level_nodes) : stands_at(tile_leaves);
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    state[i] = from[i * stride];
}
HITPROOF_BOTH void copy_state(std::uint32_t* to, const std::uint32_t* from) {
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    to[i] = from[i];
}
HITPROOF_BOTH void put_root(std::uint32_t (&root)[8], const std::uint32_t* state) {
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    root[i] = swapped(state[i]);
}

// True where the page has a content tree of its own.
HITPROOF_BOTH bool has_part(const PageTask& t) { return t.content != 0 && t.content < t.bytes; }
HITPROOF_BOTH std::uint32_t last_content_leaf(const PageTask& t) {
  return (t.content - 1) / leaf_bytes;
}
// Index in a run of `nodes` nodes from `first` of the page at `level` of the page's part.
HITPROOF_BOTH std::uint32_t part_of(const PageTask& t, std::uint32_t level, std::uint32_t first,
                                    std::uint32_t nodes) {
  if (!has_part(t)) return no_part;
  const std::uint32_t at = (last_content_leaf(t) >> arity_bits * level) - first;
  return at < nodes ? at : no_part;
}

// ---- what a block has

// The last task that begins at or before `slot`. On the device all lanes of a warp ask together,
// and look at 32 places at a time: what a search costs is its waits for memory.
HITPROOF_BOTH std::uint32_t first_task(const PageTask* tasks, std::uint32_t count,
                                       std::uint32_t slot, std::uint32_t lane) {
#ifdef __CUDA_ARCH__
  std::uint32_t low = 0, span = count;
  while (span > 1) {
    const std::uint32_t step = (span + warp_lanes - 1) / warp_lanes, at = lane * step;
    const bool before = at < span && tasks[low + at].first_slot <= slot;
    const std::uint32_t last = __popc(__ballot_sync(0xffffffffu, before)) - 1;
    low += last * step;
    span = smaller(step, span - last * step);
  }
  return low;
#else
  return task_at<&PageTask::first_slot>(tasks, count, slot);
#endif
}

// The task of the slot at each lane's step of slots, from `near` on, which begins at or before the
// first step. Every task has a step of its own at least. All lanes of a warp ask together.
HITPROOF_BOTH std::uint32_t task_of_step(const PageTask* tasks, std::uint32_t count,
                                         std::uint32_t near, std::uint32_t begin,
                                         std::uint32_t lane) {
#ifdef __CUDA_ARCH__
  static_assert(tile_runs < warp_lanes);
  const std::uint32_t slot = begin + lane * slot_step;
  const std::uint32_t first_slot =
      near + lane < count ? tasks[near + lane].first_slot : 0xffffffffu;
  const std::uint32_t last_slot = begin + (tile_runs - 1) * slot_step;
  const std::uint32_t here = __popc(__ballot_sync(0xffffffffu, first_slot <= last_slot));
  std::uint32_t found = near;
  HITPROOF_ROLLED
  for (std::uint32_t task = 1; task < here; ++task)
    if (__shfl_sync(0xffffffffu, first_slot, static_cast<int>(task)) <= slot) found = near + task;
  return found;
#else
  return near + task_at<&PageTask::first_slot>(tasks + near, smaller(count - near, tile_runs),
                                               begin + lane * slot_step);
#endif
}

// The runs of a block's slots, `begin` to `end` at most. Thread s < tile_runs looks at step s;
// threads of the first warp come together.
HITPROOF_BOTH void find_runs(TreeTile& tile, const PageTask* tasks, std::uint32_t count,
                             std::uint32_t begin, std::uint32_t end_slot, std::uint32_t thread) {
  if (thread >= warp_lanes) return;
  const std::uint32_t near = first_task(tasks, count, begin, thread);
  const std::uint32_t i = task_of_step(tasks, count, near, begin, thread);
  if (thread >= tile_runs) return;
  const std::uint32_t slot = begin + thread * slot_step;
  tile.run_of[thread] = tile_runs;
  if (slot >= end_slot) return;
  const PageTask t = tasks[i];
  if (slot - t.first_slot >= slots_of(t.bytes)) return; // left empty before the next page
  const std::uint32_t segment = (slot - t.first_slot) / segment_leaves;
  const std::uint32_t segment_slot = t.first_slot + segment * segment_leaves;
  const std::uint32_t first_slot = segment_slot > begin ? segment_slot : begin;
  tile.run_of[thread] = (first_slot - begin) / slot_step;
  if (first_slot != slot) return;
  TreeRun& run = tile.run[thread];
  const std::uint32_t leaves = leaves_of(t.bytes), leaf = slot - t.first_slot;
  const std::uint32_t segment_end = smaller(leaves, (segment + 1) * segment_leaves);
  const std::uint32_t end = smaller(segment_end, leaf + end_slot - slot);
  run.task = i;
  run.nodes = end - leaf;
  run.first = slot - begin;
  run.part = part_of(t, 0, leaf, run.nodes);
  run.target = t.first_segment + segment;
  run.ends = slot == segment_slot && end == segment_end;
  run.root = run.ends && leaves <= segment_leaves;
  run.row = nullptr;
}
// Takes up a run behind those that the tile has.
HITPROOF_BOTH void append_run(TreeTile& tile, std::uint32_t r, std::uint32_t& leaves,
                              std::uint32_t& deepest) {
  TreeRun& run = tile.run[r];
  run.before = leaves;
  leaves += run.nodes;
  if (run.ends && run.nodes > deepest) deepest = run.nodes;
  if (!run.ends && deepest < slot_step) deepest = slot_step;
  tile.order[tile.runs++] = r;
}
HITPROOF_BOTH void set_levels(TreeTile& tile, std::uint32_t deepest) {
  tile.levels = 0;
  while (deepest > 1u << arity_bits * tile.levels)
    ++tile.levels;
}
// By one thread, after find_runs and a barrier; a barrier before the first climb.
HITPROOF_BOTH void order_runs(TreeTile& tile) {
  std::uint32_t leaves = 0, deepest = 0;
  tile.runs = 0;
  for (std::uint32_t step = 0; step < tile_runs; ++step)
    if (tile.run_of[step] == step) append_run(tile, step, leaves, deepest);
  set_levels(tile, deepest);
}

// ---- leaves

// Leaves on their way from one warp to the next lie where they will, their last words in the level
// above.
HITPROOF_BOTH void hand_over(TreeTile& tile, std::uint32_t place, const LeafHash& leaf) {
  put_node(tile, 0, place, leaf.state);
  tile.odd[0][place] = leaf.last;
}
HITPROOF_BOTH void take_over(const TreeTile& tile, std::uint32_t place, LeafHash& leaf) {
  get_node(tile, 0, place, leaf.state);
  leaf.last = tile.odd[0][place];
}

// Blocks of leaves: all, or those of one warp's turn.
struct LeafTurn {
  std::uint32_t from = 0, end = most_blocks;
};
HITPROOF_BOTH LeafTurn leaf_turn(std::uint32_t turn) {
  constexpr std::uint32_t each = leaf_blocks / TileShape::parts;
  return {turn * each, turn + 1 < TileShape::parts ? (turn + 1) * each : most_blocks};
}

// This place's leaf, or the leaf that its run's content cuts, which the last turn hashes whole.
// After find_runs and a barrier; a barrier between turns. `begin`: the block's first slot.
template <bool Few>
HITPROOF_BOTH void hash_leaves(TreeTile& tile, const TreeTarget& to, std::uint32_t begin,
                               bool counts, std::uint32_t place, LeafTurn turn, LeafStage& stage) {
  const bool cut = place >= tile_leaves;
  const std::uint32_t step = cut ? place - tile_leaves : place / slot_step;
  if (step >= tile_runs || (cut && turn.end < most_blocks)) return;
  const std::uint32_t r = tile.run_of[step];
  if (r == tile_runs || (cut && r != step)) return;
  const TreeRun& run = tile.run[r];
  const std::uint32_t at = cut ? run.part : place - run.first; // no_part is behind every node
  if (at >= run.nodes) return;
  const PageTask& t = to.tasks[run.task];
  if (cut && t.content % leaf_bytes == 0) return;
  const std::uint32_t first = (begin + run.first + at - t.first_slot) * leaf_bytes;
  const std::uint32_t bytes = smaller((cut ? t.content : t.bytes) - first, leaf_bytes);
  if (cut) turn.from = 0;
  LeafHash leaf;
  if (turn.from == 0)
    begin_leaf(leaf);
  else
    take_over(tile, place, leaf);
  // What lies behind the content is not counted; a leaf across its end is counted as cut.
  const std::uint32_t nonzero =
      sha256_leaf<Few>(leaf, t.address + first, bytes, turn.from, turn.end,
                       counts && first + bytes <= t.content, stage);
  add_to(&to.roots[run.task].nonzero, nonzero);
  if (cut)
    copy_state(tile.part[r], leaf.state);
  else if (turn.end < most_blocks)
    hand_over(tile, place, leaf);
  else
    put_node(tile, 0, place, leaf.state);
}

// Sizes of what a digest of a list needs between its legs.
struct TreeRows {
  std::uint32_t tiles;         // of leaves
  std::size_t lower, segments; // nodes: over the slots, and of segments
  std::size_t bytes() const { return (lower + segments) * sizeof(TreeNode); }
};
HITPROOF_BOTH TreeRows rows_of(std::uint32_t slots, std::uint32_t segments) {
  return {static_cast<std::uint32_t>((std::uint64_t{slots} + tile_leaves - 1) / tile_leaves),
          slots / slot_step, segments};
}

} // namespace hitproof::kernels
