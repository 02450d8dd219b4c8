// The Merkle trees of a list of pages, as one thread of a block sees them. A block takes a tile of
// neighbouring nodes (leaf slots first), which falls into runs: what it has of one segment of one
// page. A run's nodes stand close together; its parents take the first half of its places, level by
// level in shared memory.
//
// Two roots are wanted of a page whose content ends inside it. Every node left of that end is the
// same in both trees; only one node a level, the one over the content's last leaf, differs. It is
// kept as the run's `part` and belongs to one thread from its leaf to its root.
#pragma once

#include "kernels/cuda/sha256_tree.h"

namespace hitproof::kernels {

inline constexpr std::uint32_t tile_leaves = 128;
inline constexpr std::uint32_t tile_runs = tile_leaves / slot_step;
inline constexpr std::uint32_t tile_nodes = 1u << (segment_levels - leaf_levels); // of a segment
inline constexpr std::uint32_t tile_levels = 8; // most that one tile climbs
// A place a leaf, and one a run for its part: place tile_leaves + r has run r's. The threads of the
// last warp have two places, for parts are few and a warp of their own would take registers from
// others.
inline constexpr std::uint32_t tree_threads = tile_leaves;
inline constexpr std::uint32_t tree_places = tile_leaves + warp_lanes;
static_assert(tile_nodes <= 2 * tile_leaves && tile_nodes == 1u << tile_levels);
static_assert(tile_runs <= 32 && segment_leaves % tile_leaves == 0);

// A node and its part on their way from one leg to the next.
struct TreeNode {
  std::uint32_t node[8], part[8];
};

// Calls `work` with each place of this thread.
template <class Work> HITPROOF_BOTH void at_places(std::uint32_t thread, const Work& work) {
  HITPROOF_ROLLED
  for (std::uint32_t place = thread; place < tree_places; place += warp_lanes) {
    work(place);
    if (place + warp_lanes < tile_leaves) return;
  }
}

inline constexpr std::uint32_t no_part = 0xffffffffu;

struct TreeRun {
  std::uint32_t task, nodes; // nodes 0: an empty page
  std::uint32_t first;       // place of its first node in the tile
  std::uint32_t part;        // index of the node over the content's last leaf, or no_part
  std::uint32_t target;      // where its node goes in the row of segments
  bool ends;                 // the run is all that there is below that node
  bool root;                 // and that node is the page's root
};

struct TreeTile {
  std::uint32_t node[2][8][tile_nodes]; // read one, write the other: one barrier a level
  std::uint32_t part[tile_runs][8];
  TreeRun run[tile_runs];
  std::uint32_t run_of[tile_runs]; // by step of slots; in a tile of one run all is run 0
  bool single;
};

struct TreeTarget {
  const PageTask* tasks;
  PageRoots* roots;
  TreeNode* segments;
};

HITPROOF_BOTH std::uint32_t smaller(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }

HITPROOF_BOTH void put_node(std::uint32_t (&to)[8][tile_nodes], std::uint32_t at,
                            const std::uint32_t (&state)[8]) {
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    to[i][at] = state[i];
}
HITPROOF_BOTH void get_node(const std::uint32_t (&from)[8][tile_nodes], std::uint32_t at,
                            std::uint32_t (&state)[8]) {
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    state[i] = from[i][at];
}
HITPROOF_BOTH void copy_state(std::uint32_t (&to)[8], const std::uint32_t (&from)[8]) {
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    to[i] = from[i];
}
HITPROOF_BOTH void put_root(std::uint32_t (&root)[8], const std::uint32_t (&state)[8]) {
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
  const std::uint32_t at = (last_content_leaf(t) >> level) - first;
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

// The runs of tile `index` of the row of slots. Thread s < tile_runs looks at step s; threads of
// the first warp come together.
HITPROOF_BOTH void find_runs(TreeTile& tile, const PageTask* tasks, std::uint32_t count,
                             std::uint32_t slots, std::uint32_t index, std::uint32_t thread) {
  if (thread >= warp_lanes) return;
  const std::uint32_t begin = index * tile_leaves;
  const std::uint32_t near = first_task(tasks, count, begin, thread);
  if (thread >= tile_runs) return;
  const std::uint32_t slot = begin + thread * slot_step;
  if (thread == 0) tile.single = false;
  tile.run_of[thread] = tile_runs;
  if (slot >= slots) return;
  // Every task has a step of its own at least.
  const std::uint32_t i =
      near + task_at<&PageTask::first_slot>(tasks + near, smaller(count - near, tile_runs), slot);
  const PageTask t = tasks[i];
  const std::uint32_t segment = (slot - t.first_slot) / segment_leaves;
  const std::uint32_t segment_slot = t.first_slot + segment * segment_leaves;
  const std::uint32_t first_slot = segment_slot > begin ? segment_slot : begin;
  tile.run_of[thread] = (first_slot - begin) / slot_step;
  if (first_slot != slot) return;
  TreeRun& run = tile.run[thread];
  const std::uint32_t leaves = leaves_of(t.bytes), leaf = slot - t.first_slot;
  const std::uint32_t segment_end = smaller(leaves, (segment + 1) * segment_leaves);
  const std::uint32_t end = smaller(segment_end, leaf + begin + tile_leaves - slot);
  run.task = i;
  run.nodes = end - leaf;
  run.first = slot - begin;
  run.part = part_of(t, 0, leaf, run.nodes);
  run.target = t.first_segment + segment;
  run.ends = slot == segment_slot && end == segment_end;
  run.root = run.ends && leaves <= segment_leaves;
}

// One run in the whole tile: `nodes` nodes at `level` of page `task`, from number `first` on.
HITPROOF_BOTH void one_run(TreeTile& tile, const PageTask* tasks, std::uint32_t task,
                           std::uint32_t level, std::uint32_t first, std::uint32_t nodes) {
  const PageTask& t = tasks[task];
  const bool root = ((leaves_of(t.bytes) - 1) >> level) + 1 == nodes;
  tile.single = true;
  tile.run[0] = {
      task, nodes, 0, part_of(t, level, first, nodes), t.first_segment + first / tile_nodes,
      true, root};
}

HITPROOF_BOTH std::uint32_t run_at(const TreeTile& tile, std::uint32_t place) {
  return tile.single ? 0 : tile.run_of[place / slot_step];
}
// The run whose part this place has; tile_runs where it has none.
HITPROOF_BOTH std::uint32_t run_of_part(const TreeTile& tile, std::uint32_t place) {
  const std::uint32_t r = place - tile_leaves;
  if (place < tile_leaves || r >= tile_runs) return tile_runs;
  if (tile.single ? r != 0 : tile.run_of[r] != r) return tile_runs;
  return tile.run[r].part == no_part ? tile_runs : r;
}

// ---- leaves

HITPROOF_BOTH void hash_leaf(const PageTask& t, PageRoots& roots, std::uint32_t leaf,
                             std::uint32_t end, bool counts, std::uint32_t (&state)[8],
                             LeafStage& stage) {
  const std::uint32_t begin = leaf * leaf_bytes, bytes = smaller(end - begin, leaf_bytes);
  std::uint32_t nonzero = 0;
  // What lies behind the content is not counted; a leaf across its end is counted as cut.
  sha256_leaf(t.address + begin, bytes, state, counts && begin + bytes <= t.content, nonzero,
              stage);
  add_to(&roots.nonzero, nonzero);
}

// This place's leaf, or the leaf that its run's content cuts. After find_runs and a barrier.
HITPROOF_BOTH void hash_leaves(TreeTile& tile, const TreeTarget& to, std::uint32_t index,
                               bool counts, std::uint32_t place, LeafStage& stage) {
  const bool cut = place >= tile_leaves;
  const std::uint32_t r = cut ? run_of_part(tile, place) : run_at(tile, place);
  if (r == tile_runs) return;
  const TreeRun& run = tile.run[r];
  const std::uint32_t at = cut ? run.part : place - run.first;
  if (at >= run.nodes) return;
  const PageTask& t = to.tasks[run.task];
  if (cut && t.content % leaf_bytes == 0) return;
  const std::uint32_t leaf = index * tile_leaves + run.first + at - t.first_slot;
  std::uint32_t state[8];
  hash_leaf(t, to.roots[run.task], leaf, cut ? t.content : t.bytes, counts, state, stage);
  if (cut)
    copy_state(tile.part[r], state);
  else
    put_node(tile.node[0], place, state);
}

// ---- levels

// Node of the whole run: the page's root, or its segment's node.
HITPROOF_BOTH void finish_node(const TreeRun& run, const TreeTarget& to,
                               const std::uint32_t (&state)[8]) {
  if (!run.root) {
    copy_state(to.segments[run.target].node, state);
    return;
  }
  const PageTask& t = to.tasks[run.task];
  PageRoots& roots = to.roots[run.task];
  put_root(roots.page, state);
  if (t.content == t.bytes) put_root(roots.content, state);
  if (t.content != 0) return;
  std::uint32_t nothing[8];
  sha256_of_nothing(nothing);
  put_root(roots.content, nothing);
}
HITPROOF_BOTH void finish_part(const TreeRun& run, const TreeTarget& to,
                               const std::uint32_t (&state)[8]) {
  if (run.root)
    put_root(to.roots[run.task].content, state);
  else
    copy_state(to.segments[run.target].part, state);
}

// Before the first level: takes up parts that are whole nodes, and finishes runs of one node or
// none. `leaves`: the tile is one of leaves. A barrier before it.
HITPROOF_BOTH void begin_climb(TreeTile& tile, const TreeTarget& to, bool leaves,
                               std::uint32_t place) {
  std::uint32_t state[8];
  if (const std::uint32_t r = run_of_part(tile, place); r != tile_runs) {
    const TreeRun& run = tile.run[r];
    if (leaves && to.tasks[run.task].content % leaf_bytes == 0) {
      get_node(tile.node[0], run.first + run.part, state);
      copy_state(tile.part[r], state);
    }
    if (run.ends && run.nodes == 1) finish_part(run, to, tile.part[r]);
  }
  if (place >= tile_leaves) return;
  const std::uint32_t r = run_at(tile, place);
  if (r == tile_runs) return;
  const TreeRun& run = tile.run[r];
  if (place != run.first || !run.ends || run.nodes > 1) return;
  if (run.nodes == 0)
    sha256_of_nothing(state);
  else
    get_node(tile.node[0], place, state);
  finish_node(run, to, state);
}

// The parents of level `step` of the tile. A barrier before each call. A run that does not end here
// stops at the level that is handed on; until then its last node is carried along. One copy of this
// in a program: the code of a hash is long, and a processor fetches it slowly once it has several.
HITPROOF_BOTH_ONCE void climb(TreeTile& tile, const TreeTarget& to, std::uint32_t step,
                              std::uint32_t place) {
  const bool is_part = place >= tile_leaves;
  const std::uint32_t r = is_part ? run_of_part(tile, place) : run_at(tile, place);
  if (r == tile_runs) return;
  const TreeRun& run = tile.run[r];
  if (run.nodes == 0 || (!run.ends && step >= leaf_levels)) return;
  const std::uint32_t nodes = ((run.nodes - 1) >> step) + 1;
  if (nodes == 1 && run.ends) return;
  const auto& from = tile.node[step & 1];
  const std::uint32_t part = run.part >> step, parent = place - run.first;
  // Where the left child is, and whether there is a right one beside it.
  const std::uint32_t left = is_part ? part & ~1u : 2 * parent;
  if (left >= nodes) return;
  const bool two = is_part ? (part & 1) != 0 : left + 1 < nodes;
  std::uint32_t state[8], right[8];
  if (is_part && !two)
    copy_state(state, tile.part[r]);
  else
    get_node(from, run.first + left, state);
  if (two) {
    if (is_part)
      copy_state(right, tile.part[r]);
    else
      get_node(from, run.first + left + 1, right);
    sha256_node(state, right);
  }
  const bool finishes = run.ends && nodes == 2;
  if (is_part) {
    copy_state(tile.part[r], state);
    if (finishes) finish_part(run, to, state);
  } else if (finishes) {
    finish_node(run, to, state);
  } else {
    put_node(tile.node[(step + 1) & 1], place, state);
  }
}

// ---- from one leg to the next

// Hands the nodes of runs that do not end in this tile of leaves to the row over the slots. After
// leaf_levels steps and a barrier.
HITPROOF_BOTH void hand_on(const TreeTile& tile, TreeNode* row, std::uint32_t index,
                           std::uint32_t place) {
  const bool is_part = place >= tile_leaves;
  const std::uint32_t r = is_part ? run_of_part(tile, place) : run_at(tile, place);
  if (r == tile_runs || tile.run[r].ends) return;
  const TreeRun& run = tile.run[r];
  TreeNode* const out = row + (index * tile_leaves + run.first) / slot_step;
  if (is_part) {
    copy_state(out[run.part >> leaf_levels].part, tile.part[r]);
    return;
  }
  const std::uint32_t at = place - run.first;
  if (at <= (run.nodes - 1) >> leaf_levels)
    get_node(tile.node[leaf_levels & 1], place, out[at].node);
}

// A segment that this tile shares with other tiles: the run at its begin (`last` false) or at its
// end. `tiles` 0: there is none, or it is the same one.
struct SharedSegment {
  std::uint32_t task, number, first_row, nodes, tiles; // number: in the page
};
HITPROOF_BOTH SharedSegment shared_segment(const TreeTile& tile, const PageTask* tasks, bool last) {
  std::uint32_t step = 0;
  if (last) {
    step = tile_runs - 1;
    while (tile.run_of[step] == tile_runs)
      --step;
  }
  const std::uint32_t r = tile.run_of[step];
  const TreeRun& run = tile.run[r];
  SharedSegment s{};
  if (run.ends || (last && r == tile.run_of[0])) return s;
  const PageTask& t = tasks[run.task];
  s.task = run.task;
  s.number = run.target - t.first_segment;
  const std::uint32_t first = t.first_slot + s.number * segment_leaves;
  const std::uint32_t leaves =
      smaller(segment_leaves, leaves_of(t.bytes) - s.number * segment_leaves);
  s.first_row = first / slot_step;
  s.nodes = (leaves - 1) / slot_step + 1;
  s.tiles = (first + leaves - 1) / tile_leaves - first / tile_leaves + 1;
  return s;
}

// Takes nodes of a row, and the part of a tile of one run. Written by other blocks of this launch:
// not through this processor's own cache.
HITPROOF_BOTH void load_state(const std::uint32_t (&from)[8], std::uint32_t (&state)[8]) {
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i) {
#ifdef __CUDA_ARCH__
    state[i] = __ldcg(&from[i]);
#else
    state[i] = from[i];
#endif
  }
}
HITPROOF_BOTH void take_up(TreeTile& tile, const TreeNode* row, std::uint32_t place) {
  const TreeRun& run = tile.run[0];
  std::uint32_t state[8];
  for (std::uint32_t at = place; at < run.nodes; at += tree_places) {
    load_state(row[at].node, state);
    put_node(tile.node[0], at, state);
  }
  if (run_of_part(tile, place) != 0) return;
  load_state(row[run.part].part, state);
  copy_state(tile.part[0], state);
}

// Sizes of what a digest of a list needs between its legs.
struct TreeRows {
  std::uint32_t tiles;         // blocks of the first launch
  std::size_t lower, segments; // nodes: over the slots, and of segments
  std::size_t bytes() const { return (lower + segments) * sizeof(TreeNode); }
};
HITPROOF_BOTH TreeRows rows_of(std::uint32_t slots, std::uint32_t segments) {
  return {static_cast<std::uint32_t>((std::uint64_t{slots} + tile_leaves - 1) / tile_leaves),
          slots / slot_step, segments};
}

} // namespace hitproof::kernels
