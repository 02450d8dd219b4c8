// The levels of the trees of page_tree.h: from leaves or handed-on nodes to roots.
#pragma once

#include "kernels/cuda/page_tree.h"

namespace hitproof::kernels {

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

// Before the first level, thread i for run i: takes up parts that are whole nodes, and finishes
// runs of one node or none. `leaves`: the tile is one of leaves. A barrier before it and behind it.
HITPROOF_BOTH void begin_climb(TreeTile& tile, const TreeTarget& to, bool leaves,
                               std::uint32_t thread) {
  if (thread >= tile.runs) return;
  const std::uint32_t r = tile.order[thread];
  const TreeRun& run = tile.run[r];
  const bool ended = run.ends && run.nodes <= 1;
  std::uint32_t state[8];
  if (run.part != no_part) {
    if (leaves && to.tasks[run.task].content % leaf_bytes == 0) {
      get_node(tile, 0, run.first + run.part, state);
      copy_state(tile.part[r], state);
    }
    if (ended) finish_part(run, to, tile.part[r]);
  }
  if (!ended) return;
  if (run.nodes == 0)
    sha256_of_nothing(state);
  else
    get_node(tile, 0, run.first, state);
  finish_node(run, to, state);
}

// Nodes of a run at `level` of the tile.
HITPROOF_BOTH std::uint32_t nodes_at(const TreeRun& run, std::uint32_t level) {
  return run.nodes == 0 ? 0 : ((run.nodes - 1) >> level) + 1;
}
// Where they stand, for the run that is number `order` from the left. A run has at most one node
// more at a level than its leaves' share of it, so one place more for each run before is enough.
HITPROOF_BOTH std::uint32_t first_at(const TreeRun& run, std::uint32_t order, std::uint32_t level) {
  return level == 0 ? run.first : (run.before >> level) + order;
}

// What a place makes of a level: a node of a run, or the run's part (behind all nodes).
struct ClimbPlace {
  std::uint32_t order, node;
  bool is_part, nothing;
};
HITPROOF_BOTH ClimbPlace climb_place(const TreeTile& tile, std::uint32_t level,
                                     std::uint32_t place) {
  std::uint32_t order = tile.runs - 1;
  const TreeRun& last = tile.run[tile.order[order]];
  const std::uint32_t end = first_at(last, order, level) + nodes_at(last, level);
  if (place >= end) {
    const std::uint32_t part = place - end;
    const bool nothing = part >= tile.runs || tile.run[tile.order[part]].part == no_part;
    return {part, 0, true, nothing};
  }
  while (order > 0 && first_at(tile.run[tile.order[order]], order, level) > place)
    --order;
  const TreeRun& run = tile.run[tile.order[order]];
  const std::uint32_t node = place - first_at(run, order, level);
  return {order, node, false, node >= nodes_at(run, level)};
}

// The nodes over level `step` of the tile. A barrier before each call. A run that does not end here
// is handed on to the row over the slots at leaf_levels; until then its last node is carried along.
// One copy of this in a program: the code of a hash is long, and a processor fetches it slowly once
// it has several.
HITPROOF_BOTH_ONCE void climb(TreeTile& tile, const TreeTarget& to, std::uint32_t step,
                              std::uint32_t place, LeafStage& stage) {
  const ClimbPlace at = climb_place(tile, step + 1, place);
  if (at.nothing) return;
  const std::uint32_t r = tile.order[at.order];
  const TreeRun& run = tile.run[r];
  if (!run.ends && step >= leaf_levels) return;
  const std::uint32_t nodes = nodes_at(run, step);
  if (nodes == 1 && run.ends) return;
  const std::uint32_t first = first_at(run, at.order, step), part = run.part >> step;
  // Where the left child is, and whether there is a right one beside it.
  const std::uint32_t left = at.is_part ? part & ~1u : 2 * at.node;
  const bool two = at.is_part ? (part & 1) != 0 : left + 1 < nodes;
  std::uint32_t state[8], right[8];
  if (at.is_part && !two)
    copy_state(state, tile.part[r]);
  else
    get_node(tile, step, first + left, state);
  if (two) {
    if (at.is_part)
      copy_state(right, tile.part[r]);
    else
      get_node(tile, step, first + left + 1, right);
    sha256_node(state, right, stage);
  }
  const bool finishes = run.ends && nodes == 2, leaves = !run.ends && step + 1 == leaf_levels;
  TreeNode* const out = to.row + run.first / slot_step;
  if (at.is_part) {
    copy_state(leaves ? out[part >> 1].part : tile.part[r], state);
    if (finishes) finish_part(run, to, state);
  } else if (finishes) {
    finish_node(run, to, state);
  } else if (leaves) {
    copy_state(out[at.node].node, state);
  } else {
    put_node(tile, step + 1, place, state);
  }
}

// ---- from one leg to the next

// Nodes at `level` of a page, from number `first` on, which stand in a row; all that there is below
// one node. `nodes` 0: there is none.
struct TreeRow {
  const TreeNode* row;
  std::uint32_t task, level, first, nodes;
};
// A segment that a block shares with other blocks: the run at its begin (`last` false) or at its
// end. `blocks` 0: there is none, or it is the same one.
struct SharedSegment {
  TreeRow row;
  std::uint32_t segment, blocks;
};
HITPROOF_BOTH SharedSegment shared_segment(const TreeTile& tile, const PageTask* tasks,
                                           const TreeNode* lower, TileShape shape, bool last) {
  SharedSegment s{};
  if (tile.runs == 0) return s; // a quarter where places were left empty
  const std::uint32_t r = tile.order[last ? tile.runs - 1 : 0];
  const TreeRun& run = tile.run[r];
  if (run.ends || (last && tile.runs == 1)) return s;
  const PageTask& t = tasks[run.task];
  s.segment = run.target;
  const std::uint32_t number = run.target - t.first_segment; // in the page
  const std::uint32_t first = t.first_slot + number * segment_leaves;
  const std::uint32_t leaves =
      smaller(segment_leaves, leaves_of(t.bytes) - number * segment_leaves);
  s.row = {lower + first / slot_step, run.task, leaf_levels, number * tile_nodes,
           (leaves - 1) / slot_step + 1};
  s.blocks = shape.block_of(first + leaves - 1) - shape.block_of(first) + 1;
  return s;
}

// Rows that are climbed together: both of `rows` where they fit, else the first.
HITPROOF_BOTH std::uint32_t rows_together(const TreeRow* rows, std::uint32_t count) {
  return count > 1 && rows[0].nodes + rows[1].nodes <= most_nodes ? 2 : 1;
}
// By one thread, between barriers.
HITPROOF_BOTH void begin_rows(TreeTile& tile, const PageTask* tasks, const TreeRow* rows,
                              std::uint32_t count) {
  std::uint32_t nodes = 0, deepest = 0;
  tile.runs = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const TreeRow& row = rows[i];
    const PageTask& t = tasks[row.task];
    const bool root = ((leaves_of(t.bytes) - 1) >> row.level) + 1 == row.nodes;
    tile.run[i] = {row.task,
                   row.nodes,
                   nodes,
                   part_of(t, row.level, row.first, row.nodes),
                   t.first_segment + row.first / tile_nodes,
                   true,
                   root,
                   0};
    append_run(tile, i, nodes, deepest);
  }
  set_levels(tile, deepest);
}

// Takes nodes of a row, and its part. Written by other blocks of this launch: not through this
// processor's own cache.
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
HITPROOF_BOTH void take_up(TreeTile& tile, std::uint32_t r, const TreeNode* row,
                           std::uint32_t place) {
  const TreeRun& run = tile.run[r];
  std::uint32_t state[8];
  for (std::uint32_t at = place; at < run.nodes; at += tree_places) {
    load_state(row[at].node, state);
    put_node(tile, 0, run.first + at, state);
  }
  if (place != 0 || run.part == no_part) return;
  load_state(row[run.part].part, state);
  copy_state(tile.part[r], state);
}

} // namespace hitproof::kernels
