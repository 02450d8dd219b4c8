// The launches of kernels/cuda/page_kernels.cu, thread by thread on the host: the same indices and
// phases, with a loop over the threads where the device has a barrier.
#pragma once

#include "kernels/cuda/page_bytes.h"
#include "kernels/cuda/page_level.h"

#include <memory>
#include <vector>

namespace hitproof::kernels::emulated {

template <class Op>
std::vector<PageCounts> walk(std::vector<PageTask>& tasks, std::uint32_t warps) {
  const PageLayout layout = lay_out(tasks.data(), tasks.size());
  std::vector<PageCounts> counts(tasks.size());
  for (std::uint32_t warp = 0; warp < warps && layout.chunks != 0; ++warp)
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
      walk_pages<Op>(tasks.data(), static_cast<std::uint32_t>(tasks.size()), layout.chunks,
                     counts.data(), warp, warps, lane);
  return counts;
}

template <class F> void all(std::uint32_t threads, F&& phase) {
  for (std::uint32_t thread = 0; thread < threads; ++thread)
    phase(thread);
}

class Digest {
 public:
  Digest(std::vector<PageTask>& tasks, bool counts, TileShape shape = {})
      : tasks_(tasks), layout_(lay_out(tasks.data(), tasks.size())),
        rows_(rows_of(layout_.slots, layout_.segments)), counts_(counts), shape_(shape),
        roots(tasks.size()), lower_(rows_.lower), segments_(rows_.segments), done_(rows_.segments) {
  }

  std::uint32_t tiles() const { return rows_.tiles; }
  std::uint32_t split() const { return layout_.split; }
  std::uint32_t blocks() const { return shape_.blocks(layout_.slots); }
  // `last`: the block that comes to its end after all others.
  void run(std::uint32_t last) {
    for (std::uint32_t index = 0; index < blocks(); ++index)
      if (index != last) leaves(index);
    if (last < blocks()) leaves(last);
    for (std::uint32_t segment = 0; segment < shape_.climbers; ++segment)
      climb_segment(segment);
    for (std::uint32_t page = 0; page < layout_.large; ++page)
      top(page);
  }

 private:
  void climb_tile(bool few) {
    all(tree_places, [&](auto i) { begin_climb(*tile_, to_, i); });
    for (std::uint32_t step = 0; step < tile_->levels; ++step) {
      if (!few) {
        all(tree_places, [&](auto i) { climb(*tile_, to_, step, i, stage_); });
        continue;
      }
      for (std::uint32_t first = 0; first < places_over(*tile_, step); first += level_places) {
        ClimbNode nodes[level_places];
        all(tree_threads, [&](auto i) {
          const std::uint32_t at = i % warp_lanes, pair = i / warp_lanes;
          if (at >= level_places) return;
          const ClimbNode node = schedule_pair(*tile_, step, first + at, pair, *schedule_);
          if (pair == 0) nodes[at] = node;
        });
        all(level_places,
            [&](auto i) { climb_scheduled(*tile_, to_, step, first + i, nodes[i], *schedule_); });
      }
    }
  }
  void climb_rows(const TreeRow* rows, std::uint32_t count, bool few) {
    begin_rows(*tile_, to_.tasks, rows, count);
    climb_tile(few);
  }
  void leaves(std::uint32_t index) {
    const std::uint32_t count = static_cast<std::uint32_t>(tasks_.size());
    const std::uint32_t begin = shape_.begin(index);
    const std::uint32_t end = smaller(shape_.begin(index + 1), layout_.slots);
    all(tree_threads, [&](auto i) { find_runs(*tile_, to_.tasks, count, begin, end, i); });
    order_runs(*tile_);
    to_.row = lower_.data() + begin / slot_step;
    const std::uint32_t turns = index < shape_.quarters ? TileShape::parts : 1;
    for (std::uint32_t turn = 0; turn < turns; ++turn)
      all(tree_places, [&](auto i) {
        const LeafTurn blocks = turns == 1 ? LeafTurn{} : leaf_turn(turn);
        if (shape_.few)
          hash_leaves<true>(*tile_, to_, begin, counts_, i, blocks, stage_);
        else
          hash_leaves<false>(*tile_, to_, begin, counts_, i, blocks, stage_);
      });
    climb_tile(shape_.few);
    std::vector<TreeRow> rows;
    for (const bool last : {false, true}) {
      const SharedSegment s = shared_segment(*tile_, to_.tasks, lower_.data(), shape_, last);
      if (s.blocks != 0 && ++done_[s.segment] == s.blocks && s.segment >= shape_.climbers)
        rows.push_back(s.row);
    }
    if (!rows.empty()) climb_rows(rows.data(), static_cast<std::uint32_t>(rows.size()), shape_.few);
  }
  void climb_segment(std::uint32_t segment) {
    const std::uint32_t count = static_cast<std::uint32_t>(tasks_.size());
    const std::uint32_t task = task_at<&PageTask::first_segment>(tasks_.data(), count, segment);
    const SharedSegment s = segment_of(tasks_.data(), task, segment, lower_.data(), shape_);
    if (done_[segment] == s.blocks) climb_rows(&s.row, 1, true);
  }
  void top(std::uint32_t page) {
    TreeNode* const row = segments_.data() + tasks_[page].first_segment;
    std::uint32_t nodes = segments_of(tasks_[page].bytes);
    for (std::uint32_t level = segment_levels; nodes > 1; level += segment_levels - leaf_levels) {
      for (std::uint32_t first = 0; first < nodes; first += tile_nodes) {
        const TreeRow run{row + first, page, level, first, smaller(tile_nodes, nodes - first)};
        climb_rows(&run, 1, false);
      }
      nodes = (nodes - 1) / tile_nodes + 1;
    }
  }

  std::vector<PageTask>& tasks_;
  PageLayout layout_;
  TreeRows rows_;
  bool counts_;
  TileShape shape_;

 public:
  std::vector<PageRoots> roots;

 private:
  std::vector<TreeNode> lower_, segments_;
  std::vector<std::uint32_t> done_;
  LeafStage stage_;
  std::unique_ptr<TreeTile> tile_ = std::make_unique<TreeTile>();
  std::unique_ptr<LevelSchedule> schedule_ = std::make_unique<LevelSchedule>();
  TreeTarget to_{tasks_.data(), roots.data(), segments_.data(), nullptr};
};

inline std::vector<PageRoots> digest(std::vector<PageTask>& tasks, bool counts = true,
                                     TileShape shape = {}) {
  Digest digest(tasks, counts, shape);
  digest.run(0);
  return std::move(digest.roots);
}

} // namespace hitproof::kernels::emulated
