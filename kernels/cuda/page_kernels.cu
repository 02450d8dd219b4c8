// The kernels themselves: barriers, launches and hand-over around the code that the headers share
// with the host. Names are looked up by the probe and by the tests, so they are C names.
#include "kernels/cuda/page_bytes.h"
#include "kernels/cuda/page_tail.h"
#include "kernels/cuda/page_tree.h"

using namespace hitproof::kernels;

namespace {

template <class Op>
__device__ void walk(const PageTask* tasks, std::uint32_t count, std::uint32_t chunks,
                     PageCounts* counts) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  walk_pages<Op>(tasks, count, chunks, counts, thread / warp_lanes,
                 gridDim.x * blockDim.x / warp_lanes, threadIdx.x % warp_lanes);
}

// Levels `base` to `base` + levels of a tile that is in shared memory.
__device__ void climb_tile(TreeTile& tile, const PageTask* tasks, PageRoots* roots,
                           std::uint32_t tile_index, std::uint32_t base, std::uint32_t levels) {
  for (std::uint32_t step = 0; step < levels; ++step) {
    __syncthreads();
    climb(tile, tasks, roots, tile_index, base, step, threadIdx.x);
  }
  __syncthreads();
}

__device__ std::uint64_t global_time() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

} // namespace

#define HITPROOF_WALK(name, Op)                                                                    \
  extern "C" __global__ void __launch_bounds__(256, 4)                                             \
      name(const PageTask* tasks, std::uint32_t count, std::uint32_t chunks, PageCounts* counts) { \
    walk<Op>(tasks, count, chunks, counts);                                                        \
  }
HITPROOF_WALK(hitproof_page_fill, Fill)
HITPROOF_WALK(hitproof_page_residue, Residue)
HITPROOF_WALK(hitproof_page_nonzero, Nonzero)
HITPROOF_WALK(hitproof_page_compare, Compare)
HITPROOF_WALK(hitproof_page_copy, Copy)

// A block a tile of leaves; the last block of a group of tiles goes on to the group's node, or to
// the roots of its pages. `done` (one per group) is zero before and after.
extern "C" __global__ void __launch_bounds__(leaf_threads, 3)
    hitproof_page_digest(const PageTask* tasks, std::uint32_t count, std::uint32_t slots,
                         PageRoots* roots, std::uint32_t counts, TreeNode* lower, TreeNode* upper,
                         std::uint32_t* done) {
  __shared__ TreeTile tile;
  __shared__ bool last;
  const std::uint32_t index = blockIdx.x, tiles = gridDim.x, thread = threadIdx.x;
  find_tasks(tile, tasks, count, slots, index, 0, thread);
  __syncthreads();
  find_cuts(tile, tasks, index, thread);
  __syncthreads();
  hash_leaves(tile, tasks, roots, index, counts != 0, thread);
  __syncthreads();
  finish_leaves(tile, tasks, roots, thread);
  climb_tile(tile, tasks, roots, index, 0, leaf_levels);
  hand_on(tile, lower, index, leaf_levels, thread);
  __threadfence();
  __syncthreads();
  const std::uint32_t group = index / group_tiles;
  if (thread == 0) {
    const std::uint32_t left = tiles - group * group_tiles;
    const std::uint32_t members = left < group_tiles ? left : group_tiles;
    last = atomicInc(&done[group], members - 1) == members - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  find_tasks(tile, tasks, count, slots, group, leaf_levels, thread);
  take_up(tile, lower, std::uint64_t{tiles} * (tile_nodes >> leaf_levels), group, thread);
  climb_tile(tile, tasks, roots, group, leaf_levels, upper_levels);
  hand_on(tile, upper, group, upper_levels, thread);
}

// Eight levels more, for pages that a group cannot hold: a block a tile of the nodes at `level`.
extern "C" __global__ void __launch_bounds__(tile_nodes)
    hitproof_page_digest_top(const PageTask* tasks, std::uint32_t count, std::uint32_t slots,
                             PageRoots* roots, std::uint32_t level, const TreeNode* from,
                             std::uint32_t nodes, TreeNode* to) {
  __shared__ TreeTile tile;
  find_tasks(tile, tasks, count, slots, blockIdx.x, level, threadIdx.x);
  take_up(tile, from, nodes, blockIdx.x, threadIdx.x);
  climb_tile(tile, tasks, roots, blockIdx.x, level, upper_levels);
  hand_on(tile, to, blockIdx.x, upper_levels, threadIdx.x);
}

// One block.
extern "C" __global__ void hitproof_page_gather(TailTask task, TailCounts* counts) {
  TailCounts sums;
  gather_tail(task, sums, threadIdx.x, blockDim.x);
  const std::uint32_t lane = threadIdx.x % warp_lanes;
  add_lanes(&counts->nonzero, sums.nonzero, lane);
  add_lanes(&counts->naive_nonzero, sums.naive_nonzero, lane);
  add_lanes(&counts->equal, sums.equal, lane);
}

// One block. Writes the address of the byte that it flipped.
extern "C" __global__ void hitproof_page_flip(FlipTask task, std::uint64_t* address) {
  __shared__ unsigned long long strongest;
  if (threadIdx.x == 0) strongest = 0;
  __syncthreads();
  for (std::uint32_t c = threadIdx.x; c < task.channels; c += blockDim.x)
    atomicMax(&strongest, static_cast<unsigned long long>(strength(task, c)));
  __syncthreads();
  if (threadIdx.x != 0) return;
  const std::uint64_t byte = flipped_byte(task, channel_of(strongest));
  store_byte(byte, load_byte(byte) ^ 0x80);
  *address = byte;
}

// One thread. Sleeps in pieces, so that it takes next to nothing from its processor.
extern "C" __global__ void hitproof_page_delay(std::uint64_t ns) {
  const std::uint64_t begin = global_time();
  for (;;) {
    const std::uint64_t past = global_time() - begin;
    if (past >= ns) return;
    const std::uint64_t left = ns - past;
    __nanosleep(left < 500'000 ? static_cast<unsigned>(left) : 500'000u);
  }
}
