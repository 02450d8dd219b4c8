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

__device__ void climb_tile(TreeTile& tile, const TreeTarget& to, std::uint32_t thread, bool leaves,
                           std::uint32_t levels) {
  at_places(thread, [&](std::uint32_t place) { begin_climb(tile, to, leaves, place); });
  for (std::uint32_t step = 0; step < levels; ++step) {
    at_places(thread, [&](std::uint32_t place) { climb(tile, to, step, place); });
    __syncthreads();
  }
}

// `nodes` nodes at `level` of a page, from number `first` on, which stand in `row`.
__device__ void climb_row(TreeTile& tile, const TreeTarget& to, std::uint32_t thread,
                          std::uint32_t task, std::uint32_t level, std::uint32_t first,
                          std::uint32_t nodes, const TreeNode* row) {
  __syncthreads();
  if (thread == 0) one_run(tile, to.tasks, task, level, first, nodes);
  __syncthreads();
  at_places(thread, [&](std::uint32_t place) { take_up(tile, row, place); });
  __syncthreads();
  climb_tile(tile, to, thread, false, tile_levels);
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

// A block a tile of leaves; the last block at a segment goes on to the segment's node. `done` (one
// per segment) is zero before and after.
extern "C" __global__ void __launch_bounds__(tree_threads, 7)
    hitproof_page_digest(const PageTask* tasks, std::uint32_t count, std::uint32_t slots,
                         PageRoots* roots, std::uint32_t counts, TreeNode* lower,
                         TreeNode* segments, std::uint32_t* done) {
  __shared__ TreeTile tile;
  __shared__ SharedSegment shared[2];
  __shared__ LeafStage stage[tree_threads];
  const TreeTarget to{tasks, roots, segments};
  const std::uint32_t index = blockIdx.x, thread = threadIdx.x;
  find_runs(tile, tasks, count, slots, index, thread);
  __syncthreads();
  at_places(thread, [&](std::uint32_t place) {
    hash_leaves(tile, to, index, counts != 0, place, stage[thread]);
  });
  __syncthreads();
  climb_tile(tile, to, thread, true, tile_levels - 1);
  at_places(thread, [&](std::uint32_t place) { hand_on(tile, lower, index, place); });
  __threadfence();
  __syncthreads();
  if (thread < 2) {
    SharedSegment s = shared_segment(tile, tasks, thread == 1);
    if (s.tiles != 0) {
      const std::uint32_t segment = tasks[s.task].first_segment + s.number;
      if (atomicInc(&done[segment], s.tiles - 1) != s.tiles - 1) s.tiles = 0;
    }
    shared[thread] = s;
  }
  __syncthreads();
  for (const SharedSegment& s : shared) {
    if (s.tiles == 0) continue;
    __threadfence();
    climb_row(tile, to, thread, s.task, leaf_levels, s.number * tile_nodes, s.nodes,
              lower + s.first_row);
  }
}

// A block a page of several segments, whose nodes become fewer in their own places.
extern "C" __global__ void __launch_bounds__(tree_threads)
    hitproof_page_digest_top(const PageTask* tasks, PageRoots* roots, TreeNode* segments) {
  __shared__ TreeTile tile;
  const TreeTarget to{tasks, roots, segments};
  const std::uint32_t thread = threadIdx.x;
  const PageTask t = tasks[blockIdx.x];
  TreeNode* const row = segments + t.first_segment;
  std::uint32_t nodes = segments_of(t.bytes);
  for (std::uint32_t level = segment_levels; nodes > 1; level += tile_levels) {
    for (std::uint32_t first = 0; first < nodes; first += tile_nodes) {
      __threadfence();
      climb_row(tile, to, thread, blockIdx.x, level, first, smaller(tile_nodes, nodes - first),
                row + first);
    }
    nodes = (nodes - 1) / tile_nodes + 1;
  }
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
