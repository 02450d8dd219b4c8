// The levels of the trees of page_tree.h: from leaves or handed-on nodes to roots.
#pragma once

#include "kernels/cuda/page_tree.h"

namespace hitproof::kernels {

// Node of the whole run: the page's root, or its segment's node.
HITPROOF_BOTH void finish_node(const TreeRun& run, const TreeTarget& to,
                               const std::uint32_t* state) {
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
                               const std::uint32_t* state) {
  if (run.root)
    put_root(to.roots[run.task].content, state);
  else
    copy_state(to.segments[run.target].part, state);
}

// Takes the state of a node. Written by other blocks of this launch: not through this processor's
// own cache.
HITPROOF_BOTH void load_state(const std::uint32_t (&from)[8], std::uint32_t* state) {
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i) {
#ifdef __CUDA_ARCH__
    state[i] = __ldcg(&from[i]);
#else
    state[i] = from[i];
#endif
  }
}

// Before the first level, thread i for run i: takes up parts that are whole nodes, and finishes
// runs of one node or none. A barrier before it and behind it.
HITPROOF_BOTH void begin_climb(TreeTile& tile, const TreeTarget& to, std::uint32_t thread) {
  if (thread >= tile.runs) return;
  const std::uint32_t r = tile.order[thread];
  const TreeRun& run = tile.run[r];
  const bool ended = run.ends && run.nodes <= 1;
  std::uint32_t state[8];
  if (run.part != no_part) {
    if (run.row == nullptr && to.tasks[run.task].content % leaf_bytes == 0)
      get_node(tile, 0, run.first + run.part, tile.part[r]);
    if (ended && run.row != nullptr) load_state(run.row[0].part, tile.part[r]);
    if (ended) finish_part(run, to, tile.part[r]);
  }
  if (!ended) return;
  if (run.nodes == 0)
    sha256_of_nothing(state);
  else if (run.row != nullptr)
    load_state(run.row[0].node, state);
  else
    get_node(tile, 0, run.first, state);
  finish_node(run, to, state);
}

// Nodes of a run at `level` of the tile.
HITPROOF_BOTH std::uint32_t nodes_at(const TreeRun& run, std::uint32_t level) {
  return run.nodes == 0 ? 0 : ((run.nodes - 1) >> arity_bits * level) + 1;
}
// Where they stand, for the run that is number `order` from the left. A run has at most one node
// more at a level than its leaves' share of it, so one place more for each run before is enough.
HITPROOF_BOTH std::uint32_t first_at(const TreeRun& run, std::uint32_t order, std::uint32_t level) {
  return level == 0 ? run.first : (run.before >> arity_bits * level) + order;
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

// The children of a node of a run: where the first one is, how many, and whether the run's part is
// the last of them.
struct Children {
  std::uint32_t run, first, count;
  bool part;
};
HITPROOF_BOTH void get_child(const TreeTile& tile, const Children& of, std::uint32_t level,
                             std::uint32_t child, std::uint32_t* words) {
  const TreeRun& run = tile.run[of.run];
  const bool part = of.part && child + 1 == of.count;
  if (level == 0 && run.row != nullptr)
    load_state(part ? run.row[of.first + child].part : run.row[of.first + child].node, words);
  else if (part)
    copy_state(words, tile.part[of.run]);
  else
    get_node(tile, level, of.first + child, words);
}

// Nodes of a row come from far away: a pair is asked for while the one before it is hashed.
HITPROOF_BOTH void ask_pair(const TreeTile& tile, const Children& of, std::uint32_t pair,
                            LeafStage& stage) {
  const TreeNode* const row = tile.run[of.run].row + of.first;
  const std::uint32_t end = of.count - (of.part ? 1 : 0);
  for (std::uint32_t child = 2 * pair; child < 2 * pair + 2 && child < end; ++child)
    ask_half(stage, child % 2, reinterpret_cast<std::uint64_t>(row[child].node));
}

// What sha256_node asks for. `level`: of the children.
HITPROOF_BOTH void get_pair(const TreeTile& tile, const Children& of, std::uint32_t level,
                            std::uint32_t pair, LeafStage& stage,
                            std::uint32_t (&words)[pair_words]) {
  const bool row = level == 0 && tile.run[of.run].row != nullptr;
  if (row) await_stage();
  HITPROOF_UNROLL
  for (std::uint32_t half = 0; half < 2; ++half) {
    const std::uint32_t child = 2 * pair + half;
    std::uint32_t* const to = words + half * child_words;
    if (row && child + (of.part ? 1 : 0) < of.count)
      copy_state(to, stage.word + half * child_words);
    else if (child < of.count)
      get_child(tile, of, level, child, to);
  }
  if (row) ask_pair(tile, of, pair + 1, stage);
}

// What a place makes of the level `step`.
struct ClimbNode {
  ClimbPlace at;
  std::uint32_t nodes, part; // of the run at that level
  Children of;
  bool nothing;
};
HITPROOF_BOTH ClimbNode climb_node(const TreeTile& tile, std::uint32_t step, std::uint32_t place) {
  ClimbNode n{};
  n.nothing = true;
  n.at = climb_place(tile, step + 1, place);
  if (n.at.nothing) return n;
  const std::uint32_t r = tile.order[n.at.order];
  const TreeRun& run = tile.run[r];
  if (!run.ends && step >= leaf_levels) return n;
  n.nodes = nodes_at(run, step);
  if (n.nodes == 1 && run.ends) return n;
  n.nothing = false;
  n.part = run.part >> arity_bits * step;
  const std::uint32_t in_tile =
      step == 0 && run.row != nullptr ? 0 : first_at(run, n.at.order, step);
  const std::uint32_t left =
      n.at.is_part ? n.part / tree_arity * tree_arity : tree_arity * n.at.node;
  n.of = {r, in_tile + left, n.at.is_part ? n.part - left + 1 : smaller(tree_arity, n.nodes - left),
          n.at.is_part};
  return n;
}
// Puts it where the level above, another block or the page's owner looks for it. A run that does
// not end here is handed on to the row over the slots.
HITPROOF_BOTH void settle(TreeTile& tile, const TreeTarget& to, std::uint32_t step,
                          std::uint32_t place, const ClimbNode& n,
                          const std::uint32_t (&state)[8]) {
  static_assert(leaf_levels == 1); // else a run would have to be carried up to them
  const TreeRun& run = tile.run[n.of.run];
  const bool finishes = run.ends && n.nodes <= tree_arity;
  TreeNode* const out = to.row + run.first / slot_step;
  if (n.at.is_part) {
    copy_state(run.ends ? tile.part[n.of.run] : out[n.part / tree_arity].part, state);
    if (finishes) finish_part(run, to, state);
  } else if (finishes) {
    finish_node(run, to, state);
  } else if (!run.ends) {
    copy_state(out[n.at.node].node, state);
  } else {
    put_node(tile, step + 1, place, state);
  }
}

// The nodes over level `step` of the tile, a thread a node. A barrier before each call. One copy of
// this in a program: the code of a hash is long, and a processor fetches it slowly once it has
// several.
HITPROOF_BOTH_ONCE void climb(TreeTile& tile, const TreeTarget& to, std::uint32_t step,
                              std::uint32_t place, LeafStage& stage) {
  const ClimbNode n = climb_node(tile, step, place);
  if (n.nothing) return;
  std::uint32_t state[8];
  if (n.of.count == 1) {
    get_child(tile, n.of, step, 0, state);
  } else {
    if (step == 0 && tile.run[n.of.run].row != nullptr) ask_pair(tile, n.of, 0, stage);
    sha256_node(
        state, n.of.count,
        [&](std::uint32_t pair, std::uint32_t(&words)[pair_words]) {
          get_pair(tile, n.of, step, pair, stage, words);
        },
        stage);
  }
  settle(tile, to, step, place, n, state);
}

// ---- from one leg to the next

// Nodes at `level` of a page, from number `first` on, which stand in a row; all that there is below
// one node. `nodes` 0: there is none.
struct TreeRow {
  const TreeNode* row;
  std::uint32_t task, level, first, nodes;
};
// A segment and the blocks that hash its leaves. `blocks` 0: there is none.
struct SharedSegment {
  TreeRow row;
  std::uint32_t segment, blocks;
};
HITPROOF_BOTH SharedSegment segment_of(const PageTask* tasks, std::uint32_t task,
                                       std::uint32_t segment, const TreeNode* lower,
                                       TileShape shape) {
  const PageTask& t = tasks[task];
  const std::uint32_t number = segment - t.first_segment; // in the page
  const std::uint32_t first = t.first_slot + number * segment_leaves;
  const std::uint32_t leaves =
      smaller(segment_leaves, leaves_of(t.bytes) - number * segment_leaves);
  const TreeRow row{lower + first / slot_step, task, leaf_levels, number * tile_nodes,
                    (leaves - 1) / slot_step + 1};
  return {row, segment, shape.block_of(first + leaves - 1) - shape.block_of(first) + 1};
}
// The one that a block shares with others: the run at its begin (`last` false) or at its end. None
// if that is the same one.
HITPROOF_BOTH SharedSegment shared_segment(const TreeTile& tile, const PageTask* tasks,
                                           const TreeNode* lower, TileShape shape, bool last) {
  if (tile.runs == 0) return {}; // a quarter where places were left empty
  const TreeRun& run = tile.run[tile.order[last ? tile.runs - 1 : 0]];
  if (run.ends || (last && tile.runs == 1)) return {};
  return segment_of(tasks, run.task, run.target, lower, shape);
}

// By one thread, between barriers. `rows`: one or two, which are climbed together. The node over a
// row may go where the row begins: such a row is read at its first level alone and has more.
HITPROOF_BOTH void begin_rows(TreeTile& tile, const PageTask* tasks, const TreeRow* rows,
                              std::uint32_t count) {
  std::uint32_t nodes = 0, deepest = 0;
  tile.runs = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const TreeRow& row = rows[i];
    const PageTask& t = tasks[row.task];
    const bool root = ((leaves_of(t.bytes) - 1) >> arity_bits * row.level) + 1 == row.nodes;
    tile.run[i] = {row.task,
                   row.nodes,
                   0,
                   part_of(t, row.level, row.first, row.nodes),
                   t.first_segment + row.first / tile_nodes,
                   true,
                   root,
                   0,
                   row.row};
    append_run(tile, i, nodes, deepest);
  }
  set_levels(tile, deepest);
}

} // namespace hitproof::kernels
