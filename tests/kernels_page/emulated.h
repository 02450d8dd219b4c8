// The launches of kernels/cuda/page_kernels.cu, thread by thread on the host: the same indices and
// phases, with a loop over the threads where the device has a barrier.
#pragma once

#include "kernels/cuda/page_bytes.h"
#include "kernels/cuda/page_tree.h"

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
  Digest(std::vector<PageTask>& tasks, bool counts)
      : tasks_(tasks), layout_(lay_out(tasks.data(), tasks.size())),
        rows_(rows_of(layout_.slots, layout_.segments)), counts_(counts), roots(tasks.size()),
        lower_(rows_.lower), segments_(rows_.segments), done_(rows_.segments) {}

  void run() {
    for (std::uint32_t index = 0; index < rows_.tiles; ++index)
      leaves(index);
    for (std::uint32_t page = 0; page < layout_.large; ++page)
      top(page);
  }

 private:
  void climb_tile(bool leaves, std::uint32_t levels) {
    all(tree_places, [&](auto i) { begin_climb(*tile_, to_, leaves, i); });
    for (std::uint32_t step = 0; step < levels; ++step)
      all(tree_places, [&](auto i) { climb(*tile_, to_, step, i); });
  }
  void climb_row(std::uint32_t task, std::uint32_t level, std::uint32_t first, std::uint32_t nodes,
                 const TreeNode* row) {
    one_run(*tile_, to_.tasks, task, level, first, nodes);
    all(tree_places, [&](auto i) { take_up(*tile_, row, i); });
    climb_tile(false, tile_levels);
  }
  void leaves(std::uint32_t index) {
    const std::uint32_t count = static_cast<std::uint32_t>(tasks_.size());
    all(tree_threads,
        [&](auto i) { find_runs(*tile_, to_.tasks, count, layout_.slots, index, i); });
    LeafStage stage;
    all(tree_places, [&](auto i) { hash_leaves(*tile_, to_, index, counts_, i, stage); });
    climb_tile(true, tile_levels - 1);
    all(tree_places, [&](auto i) { hand_on(*tile_, lower_.data(), index, i); });
    const SharedSegment shared[2] = {shared_segment(*tile_, to_.tasks, false),
                                     shared_segment(*tile_, to_.tasks, true)};
    for (const SharedSegment& s : shared) {
      if (s.tiles == 0) continue;
      if (++done_[tasks_[s.task].first_segment + s.number] != s.tiles) continue;
      climb_row(s.task, leaf_levels, s.number * tile_nodes, s.nodes, lower_.data() + s.first_row);
    }
  }
  void top(std::uint32_t page) {
    TreeNode* const row = segments_.data() + tasks_[page].first_segment;
    std::uint32_t nodes = segments_of(tasks_[page].bytes);
    for (std::uint32_t level = segment_levels; nodes > 1; level += tile_levels) {
      for (std::uint32_t first = 0; first < nodes; first += tile_nodes)
        climb_row(page, level, first, smaller(tile_nodes, nodes - first), row + first);
      nodes = (nodes - 1) / tile_nodes + 1;
    }
  }

  std::vector<PageTask>& tasks_;
  PageLayout layout_;
  TreeRows rows_;
  bool counts_;

 public:
  std::vector<PageRoots> roots;

 private:
  std::vector<TreeNode> lower_, segments_;
  std::vector<std::uint32_t> done_;
  std::unique_ptr<TreeTile> tile_ = std::make_unique<TreeTile>();
  TreeTarget to_{tasks_.data(), roots.data(), segments_.data()};
};

inline std::vector<PageRoots> digest(std::vector<PageTask>& tasks, bool counts = true) {
  Digest digest(tasks, counts);
  digest.run();
  return std::move(digest.roots);
}

} // namespace hitproof::kernels::emulated
