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

inline std::vector<PageRoots> digest(std::vector<PageTask>& tasks, bool counts = true) {
  const PageLayout layout = lay_out(tasks.data(), tasks.size());
  const std::uint32_t n = static_cast<std::uint32_t>(tasks.size());
  const TreeRows rows = rows_of(layout.slots);
  const PageTask* const t = tasks.data();
  std::vector<PageRoots> roots(n);
  std::vector<TreeNode> lower(rows.lower), upper(rows.upper);
  const auto tile = std::make_unique<TreeTile>();
  const auto climb_all = [&](std::uint32_t index, std::uint32_t base, std::uint32_t levels,
                             std::uint32_t threads) {
    for (std::uint32_t step = 0; step < levels; ++step)
      all(threads, [&](auto i) { climb(*tile, t, roots.data(), index, base, step, i); });
  };
  for (std::uint32_t index = 0; index < rows.tiles; ++index) {
    all(leaf_threads, [&](auto i) { find_tasks(*tile, t, n, layout.slots, index, 0, i); });
    all(leaf_threads, [&](auto i) { find_cuts(*tile, t, index, i); });
    all(leaf_threads, [&](auto i) { hash_leaves(*tile, t, roots.data(), index, counts, i); });
    all(leaf_threads, [&](auto i) { finish_leaves(*tile, t, roots.data(), i); });
    climb_all(index, 0, leaf_levels, leaf_threads);
    all(leaf_threads, [&](auto i) { hand_on(*tile, lower.data(), index, leaf_levels, i); });
  }
  const auto upper_step = [&](std::vector<TreeNode>& from, std::vector<TreeNode>& to,
                              std::uint32_t level) {
    for (std::uint32_t index = 0; index < tiles_of(static_cast<std::uint32_t>(from.size()));
         ++index) {
      all(tile_nodes, [&](auto i) { find_tasks(*tile, t, n, layout.slots, index, level, i); });
      all(tile_nodes, [&](auto i) { take_up(*tile, from.data(), from.size(), index, i); });
      climb_all(index, level, upper_levels, tile_nodes);
      all(tile_nodes, [&](auto i) { hand_on(*tile, to.data(), index, upper_levels, i); });
    }
  };
  upper_step(lower, upper, leaf_levels);
  for (std::uint32_t level = leaf_levels + upper_levels; layout.largest >> level > 1;
       level += upper_levels) {
    std::vector<TreeNode> next(tiles_of(static_cast<std::uint32_t>(upper.size())));
    upper_step(upper, next, level);
    upper = std::move(next);
  }
  return roots;
}

} // namespace hitproof::kernels::emulated
