// The Merkle trees of a list of pages, as one thread of a block sees them. A block takes a tile of
// 256 neighbouring nodes of the slot row: leaves first, then their parents, level by level in
// shared memory. The node of `level` over slot s stands at s >> level in its row.
//
// Two roots are wanted of a page whose content ends inside it. Every node left of that end is the
// same in both trees; only one node a level, the one over the content's last leaf, differs. It is
// kept as the `part` beside the node of its place.
#pragma once

#include "kernels/cuda/sha256_lane.h"

namespace hitproof::kernels {

inline constexpr std::uint32_t tile_nodes = 256;
inline constexpr std::uint32_t leaf_levels = 3;  // done by the block that hashed the leaves
inline constexpr std::uint32_t upper_levels = 8; // a whole tile to one node
inline constexpr std::uint32_t group_tiles = tile_nodes / (tile_nodes >> leaf_levels);
// One warp more than leaves: for the leaves that the content's end cuts.
inline constexpr std::uint32_t leaf_threads = tile_nodes + 32;
inline constexpr std::uint32_t no_task = 0xffffffffu;

// A node and its part on their way from one launch or tile to the next.
struct TreeNode {
  std::uint32_t node[8], part[8];
};

struct TreeTile {
  // Read one buffer, write the other: one barrier a level.
  std::uint32_t node[2][8][tile_nodes], part[2][8][tile_nodes];
  std::uint32_t task[tile_nodes];      // whose node it is
  std::uint32_t cut[tile_nodes], cuts; // slots of leaves that the content's end cuts
};

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
HITPROOF_BOTH void put_root(std::uint32_t (&root)[8], const std::uint32_t (&state)[8]) {
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    root[i] = swapped(state[i]);
}

// True where the page has a content tree of its own.
HITPROOF_BOTH bool has_part(const PageTask& t) { return t.content != 0 && t.content < t.bytes; }
// The leaf that has the content's last byte.
HITPROOF_BOTH std::uint32_t last_content_leaf(const PageTask& t) {
  return (t.content - 1) / leaf_bytes;
}

// The page is complete where its tree has one node: writes the roots that follow from that node.
HITPROOF_BOTH void page_complete(const PageTask& t, PageRoots& roots,
                                 const std::uint32_t (&state)[8]) {
  put_root(roots.page, state);
  if (t.content == t.bytes) put_root(roots.content, state);
  if (t.content != 0) return;
  std::uint32_t nothing[8];
  sha256_of_nothing(nothing);
  put_root(roots.content, nothing);
}

// Which page each node of the tile belongs to. `level`: of the tile's nodes.
HITPROOF_BOTH void find_tasks(TreeTile& tile, const PageTask* tasks, std::uint32_t count,
                              std::uint32_t slots, std::uint32_t tile_index, std::uint32_t level,
                              std::uint32_t thread) {
  if (thread == 0) tile.cuts = 0;
  if (thread >= tile_nodes) return;
  const std::uint64_t slot = (std::uint64_t{tile_index} * tile_nodes + thread) << level;
  tile.task[thread] =
      slot < slots ? task_of_slot(tasks, count, static_cast<std::uint32_t>(slot)) : no_task;
}

// Leaf that slot `at` of the tile stands for; false where it stands for none.
HITPROOF_BOTH bool leaf_of_slot(const TreeTile& tile, const PageTask* tasks,
                                std::uint32_t tile_index, std::uint32_t at, std::uint32_t& leaf) {
  const std::uint32_t i = tile.task[at];
  if (i == no_task) return false;
  leaf = tile_index * tile_nodes + at - tasks[i].first_slot;
  return leaf < leaves_of(tasks[i].bytes);
}

// Notes the leaves that the content's end cuts. After find_tasks and a barrier.
HITPROOF_BOTH void find_cuts(TreeTile& tile, const PageTask* tasks, std::uint32_t tile_index,
                             std::uint32_t thread) {
  std::uint32_t leaf;
  if (thread >= tile_nodes || !leaf_of_slot(tile, tasks, tile_index, thread, leaf)) return;
  const PageTask& t = tasks[tile.task[thread]];
  if (!has_part(t) || leaf != last_content_leaf(t) || t.content % leaf_bytes == 0) return;
#ifdef __CUDA_ARCH__
  tile.cut[atomicAdd(&tile.cuts, 1u)] = thread;
#else
  tile.cut[tile.cuts++] = thread;
#endif
}

// Hashes this thread's leaves: the one of its slot, and cut ones. After find_cuts and a barrier.
HITPROOF_BOTH void hash_leaves(TreeTile& tile, const PageTask* tasks, PageRoots* roots,
                               std::uint32_t tile_index, bool counts, std::uint32_t thread) {
  for (std::uint32_t item = thread; item < tile_nodes + tile.cuts; item += leaf_threads) {
    const bool cut = item >= tile_nodes;
    const std::uint32_t at = cut ? tile.cut[item - tile_nodes] : item;
    std::uint32_t leaf;
    if (!leaf_of_slot(tile, tasks, tile_index, at, leaf)) continue;
    const std::uint32_t i = tile.task[at];
    const PageTask& t = tasks[i];
    const std::uint32_t end = cut ? t.content : t.bytes;
    const std::uint32_t begin = leaf * leaf_bytes;
    const std::uint32_t bytes = end - begin < leaf_bytes ? end - begin : leaf_bytes;
    std::uint32_t state[8], nonzero = 0;
    // What lies behind the content is not counted; a leaf across its end is counted as cut.
    sha256_leaf(t.address + begin, bytes, state, counts && begin + bytes <= t.content, nonzero);
    add_to(&roots[i].nonzero, nonzero);
    put_node(cut ? tile.part[0] : tile.node[0], at, state);
    if (cut) continue;
    if (has_part(t) && leaf == last_content_leaf(t) && t.content % leaf_bytes == 0)
      put_node(tile.part[0], at, state);
  }
}

// Pages of one leaf are complete now. After hash_leaves and a barrier.
HITPROOF_BOTH void finish_leaves(const TreeTile& tile, const PageTask* tasks, PageRoots* roots,
                                 std::uint32_t thread) {
  if (thread >= tile_nodes || tile.task[thread] == no_task) return;
  const std::uint32_t i = tile.task[thread];
  const PageTask& t = tasks[i];
  if (slots_of(t.bytes) != 1) return;
  std::uint32_t state[8];
  if (t.bytes == 0)
    sha256_of_nothing(state);
  else
    get_node(tile.node[0], thread, state);
  page_complete(t, roots[i], state);
  if (!has_part(t)) return;
  get_node(tile.part[0], thread, state);
  put_root(roots[i].content, state);
}

// One level: parents of the tile's nodes at `level` = base + step. The first half of the threads
// that are needed makes nodes, the second parts. A barrier before each call.
HITPROOF_BOTH void climb(TreeTile& tile, const PageTask* tasks, PageRoots* roots,
                         std::uint32_t tile_index, std::uint32_t base, std::uint32_t step,
                         std::uint32_t thread) {
  const std::uint32_t parents = tile_nodes >> (step + 1);
  if (thread >= 2 * parents) return;
  const bool is_part = thread >= parents;
  const std::uint32_t parent = is_part ? thread - parents : thread;
  const std::uint32_t i = tile.task[(2 * parent) << step];
  if (i == no_task) return;
  const PageTask& t = tasks[i];
  const std::uint32_t level = base + step, slots = slots_of(t.bytes);
  if (slots >> level <= 1) return; // complete below this level
  const std::uint32_t slot = static_cast<std::uint32_t>(
      ((std::uint64_t{tile_index} * tile_nodes + ((2 * parent) << step)) << base) - t.first_slot);
  const std::uint32_t left = slot >> level; // of the page's nodes at this level
  const std::uint32_t nodes = ((leaves_of(t.bytes) - 1) >> level) + 1;
  if (left >= nodes) return;
  const auto& from = tile.node[step & 1];
  const auto& from_part = tile.part[step & 1];
  const bool completes = slots >> level == 2;
  std::uint32_t state[8], right[8];
  if (is_part) {
    if (!has_part(t)) return;
    const std::uint32_t last = last_content_leaf(t) >> level;
    if (last >> 1 != left >> 1) return;
    get_node(from_part, 2 * parent + (last & 1), state);
    if (last & 1) {
      HITPROOF_UNROLL
      for (int k = 0; k < 8; ++k)
        right[k] = state[k];
      get_node(from, 2 * parent, state);
      sha256_node(state, right);
    }
    put_node(tile.part[(step + 1) & 1], parent, state);
    if (completes) put_root(roots[i].content, state);
    return;
  }
  get_node(from, 2 * parent, state);
  if (left + 1 < nodes) {
    get_node(from, 2 * parent + 1, right);
    sha256_node(state, right);
  }
  put_node(tile.node[(step + 1) & 1], parent, state);
  if (completes) page_complete(t, roots[i], state);
}

// Hands the tile's nodes after `levels` steps to the next row, and takes a tile from there.
HITPROOF_BOTH void hand_on(const TreeTile& tile, TreeNode* row, std::uint32_t tile_index,
                           std::uint32_t levels, std::uint32_t thread) {
  const std::uint32_t nodes = tile_nodes >> levels;
  if (thread >= nodes) return;
  TreeNode& out = row[std::uint64_t{tile_index} * nodes + thread];
  get_node(tile.node[levels & 1], thread, out.node);
  get_node(tile.part[levels & 1], thread, out.part);
}
HITPROOF_BOTH void take_up(TreeTile& tile, const TreeNode* row, std::uint64_t row_nodes,
                           std::uint32_t tile_index, std::uint32_t thread) {
  const std::uint64_t at = std::uint64_t{tile_index} * tile_nodes + thread;
  if (thread >= tile_nodes || at >= row_nodes) return;
#ifdef __CUDA_ARCH__
  // Written by other blocks of this launch: not through this processor's own cache.
  std::uint32_t node[8], part[8];
  for (int i = 0; i < 8; ++i) {
    node[i] = __ldcg(&row[at].node[i]);
    part[i] = __ldcg(&row[at].part[i]);
  }
  put_node(tile.node[0], thread, node);
  put_node(tile.part[0], thread, part);
#else
  put_node(tile.node[0], thread, row[at].node);
  put_node(tile.part[0], thread, row[at].part);
#endif
}

// Sizes of the rows that a digest needs between its steps, for a list with so many slots.
HITPROOF_BOTH std::uint32_t tiles_of(std::uint32_t nodes) {
  return static_cast<std::uint32_t>((std::uint64_t{nodes} + tile_nodes - 1) / tile_nodes);
}
struct TreeRows {
  std::uint32_t tiles, groups;
  std::size_t lower, upper; // nodes: after the leaf levels (tiles), after the upper ones (groups)
  std::size_t bytes() const { return (lower + upper) * sizeof(TreeNode); }
};
inline TreeRows rows_of(std::uint32_t slots) {
  const std::uint32_t tiles = tiles_of(slots);
  const std::uint32_t groups = (tiles + group_tiles - 1) / group_tiles;
  return {tiles, groups, std::size_t{tiles} * (tile_nodes >> leaf_levels), groups};
}
// Slots that one group finishes; larger pages need a launch of the top kernel more for every factor
// of tile_nodes.
inline constexpr std::uint32_t group_slots = tile_nodes * group_tiles;

} // namespace hitproof::kernels
