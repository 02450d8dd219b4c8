// The kernels themselves: barriers, launches and hand-over around the code that the headers share
// with the host. Names are looked up by the probe and by the tests, so they are C names.
#include "kernels/cuda/page_bytes.h"
#include "kernels/cuda/page_level.h"
#include "kernels/cuda/page_tail.h"

using namespace hitproof::kernels;

namespace {

template <class Op>
__device__ void walk(const PageTask* tasks, std::uint32_t count, std::uint32_t chunks,
                     PageCounts* counts) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  walk_pages<Op>(tasks, count, chunks, counts, thread / warp_lanes,
                 gridDim.x * blockDim.x / warp_lanes, threadIdx.x % warp_lanes);
}

// What a block works with beside its tile: leaves on their way and, where Few, a level's schedules.
template <bool Few> struct Scratch { LeafStage stage[tree_threads]; };
template <> struct Scratch<true> {
  union {
    LeafStage stage[tree_threads];
    LevelSchedule schedule;
  };
};

template <bool Few>
__device__ void climb_tile(TreeTile& tile, const TreeTarget& to, std::uint32_t thread,
                           Scratch<Few>& scratch) {
  begin_climb(tile, to, thread);
  __syncthreads();
  const std::uint32_t levels = tile.levels;
  for (std::uint32_t step = 0; step < levels; ++step) {
    // Each level by other warps than the last: they sit at other schedulers.
    const std::uint32_t turned = (thread + step * warp_lanes) % tree_threads;
    if constexpr (Few) {
      const std::uint32_t places = places_over(tile, step), lane = thread % warp_lanes;
      HITPROOF_ROLLED
      for (std::uint32_t first = 0; first < places; first += level_places) {
        const std::uint32_t place = first + lane;
        ClimbNode node;
        if (lane < level_places)
          node = schedule_pair(tile, step, place, turned / warp_lanes, scratch.schedule);
        __syncthreads();
        if (turned < level_places) climb_scheduled(tile, to, step, place, node, scratch.schedule);
        __syncthreads();
      }
    } else {
      at_places(turned,
                [&](std::uint32_t place) { climb(tile, to, step, place, scratch.stage[thread]); });
      __syncthreads();
    }
  }
}

// `rows` of one or two.
template <bool Few>
__device__ void climb_rows(TreeTile& tile, const TreeTarget& to, std::uint32_t thread,
                           const TreeRow* rows, std::uint32_t count, Scratch<Few>& scratch) {
  __syncthreads();
  if (thread == 0) begin_rows(tile, to.tasks, rows, count);
  __syncthreads();
  climb_tile<Few>(tile, to, thread, scratch);
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

namespace {

// Leaves of a block, by all of its warps at once, or by one after the other.
template <bool Few>
__device__ void hash_block(TreeTile& tile, const TreeTarget& to, std::uint32_t begin, bool counts,
                           bool quarter, std::uint32_t thread, LeafStage& stage) {
  if constexpr (Few) {
    if (quarter) {
      HITPROOF_ROLLED
      for (std::uint32_t turn = 0; turn < TileShape::parts; ++turn) {
        if (turn != 0) __syncthreads();
        if (thread / warp_lanes != turn) continue;
        // A place of the quarter, and the one for a part that each thread of the last warp has.
        HITPROOF_ROLLED
        for (std::uint32_t place = thread % warp_lanes; place < tree_places; place += tile_leaves)
          hash_leaves<true>(tile, to, begin, counts, place, leaf_turn(turn), stage);
      }
      return;
    }
  }
  at_places(thread, [&](std::uint32_t place) {
    hash_leaves<Few>(tile, to, begin, counts, place, LeafTurn{}, stage);
  });
}

// A block that waits for those below a segment, and goes on. They are before it in the launch, and
// wait for nobody.
__device__ void climb_segment(const PageTask* tasks, std::uint32_t count, std::uint32_t segment,
                              const TreeTarget& to, const TreeNode* lower, std::uint32_t* done,
                              TileShape shape, TreeTile& tile, Scratch<true>& scratch) {
  const std::uint32_t thread = threadIdx.x;
  if (thread == 0) {
    const SharedSegment s = segment_of(
        tasks, task_at<&PageTask::first_segment>(tasks, count, segment), segment, lower, shape);
    begin_rows(tile, tasks, &s.row, 1);
    if (s.blocks == 1) {
      tile.runs = 0; // its only block has been to the end
    } else {
      while (atomicAdd(&done[segment], 0) < s.blocks)
        __nanosleep(100);
      done[segment] = 0;
    }
    __threadfence();
  }
  __syncthreads();
  if (tile.runs != 0) climb_tile<true>(tile, to, thread, scratch);
}

template <bool Few>
__device__ void digest(const PageTask* tasks, std::uint32_t count, std::uint32_t slots,
                       PageRoots* roots, std::uint32_t counts, TreeNode* lower, TreeNode* segments,
                       std::uint32_t* done, TileShape shape) {
  __shared__ TreeTile tile;
  __shared__ TreeRow rows[2];
  __shared__ Scratch<Few> scratch;
  const std::uint32_t thread = threadIdx.x;
  if constexpr (Few) {
    const std::uint32_t blocks = gridDim.x - shape.climbers;
    if (blockIdx.x >= blocks) {
      climb_segment(tasks, count, blockIdx.x - blocks, {tasks, roots, segments, nullptr}, lower,
                    done, shape, tile, scratch);
      return;
    }
  }
  const std::uint32_t begin = shape.begin(blockIdx.x);
  const TreeTarget to{tasks, roots, segments, lower + begin / slot_step};
  find_runs(tile, tasks, count, begin, smaller(shape.begin(blockIdx.x + 1), slots), thread);
  __syncthreads();
  if (thread == 0) order_runs(tile);
  hash_block<Few>(tile, to, begin, counts != 0, blockIdx.x < shape.quarters, thread,
                  scratch.stage[thread]);
  __syncthreads();
  climb_tile<Few>(tile, to, thread, scratch);
  __threadfence();
  __syncthreads();
  if (thread < 2) {
    SharedSegment s = shared_segment(tile, tasks, lower, shape, thread == 1);
    const bool other = Few && s.segment < shape.climbers; // goes on
    if (s.blocks != 0 && other) atomicAdd(&done[s.segment], 1);
    if (s.blocks == 0 || other || atomicInc(&done[s.segment], s.blocks - 1) != s.blocks - 1)
      s.row.nodes = 0;
    rows[thread] = s.row;
  }
  __syncthreads();
  const std::uint32_t next = rows[0].nodes == 0 ? 1 : 0;
  const std::uint32_t end = rows[1].nodes == 0 ? 1 : 2;
  __threadfence();
  if (next < end) climb_rows<Few>(tile, to, thread, rows + next, end - next, scratch);
}

} // namespace

// A block a tile of leaves; the last block at a segment goes on to the segment's node. `done` (one
// per segment) is zero before and after.
extern "C" __global__ void __launch_bounds__(tree_threads, 7)
    hitproof_page_digest(const PageTask* tasks, std::uint32_t count, std::uint32_t slots,
                         PageRoots* roots, std::uint32_t counts, TreeNode* lower,
                         TreeNode* segments, std::uint32_t* done) {
  digest<false>(tasks, count, slots, roots, counts, lower, segments, done, TileShape{});
}
// The same for few tiles, with quarters among the blocks and climbers behind them.
extern "C" __global__ void __launch_bounds__(tree_threads, few_tiles + 1)
    hitproof_page_digest_few(const PageTask* tasks, std::uint32_t count, std::uint32_t slots,
                             PageRoots* roots, std::uint32_t counts, TreeNode* lower,
                             TreeNode* segments, std::uint32_t* done, TileShape shape) {
  digest<true>(tasks, count, slots, roots, counts, lower, segments, done, shape);
}

// A block a page of several segments, whose nodes become fewer in their own places.
extern "C" __global__ void __launch_bounds__(tree_threads)
    hitproof_page_digest_top(const PageTask* tasks, PageRoots* roots, TreeNode* segments) {
  __shared__ TreeTile tile;
  __shared__ Scratch<false> scratch;
  const TreeTarget to{tasks, roots, segments, nullptr};
  const std::uint32_t thread = threadIdx.x;
  const PageTask t = tasks[blockIdx.x];
  TreeNode* const row = segments + t.first_segment;
  std::uint32_t nodes = segments_of(t.bytes);
  for (std::uint32_t level = segment_levels; nodes > 1; level += segment_levels - leaf_levels) {
    for (std::uint32_t first = 0; first < nodes; first += tile_nodes) {
      __threadfence();
      const TreeRow run{row + first, blockIdx.x, level, first, smaller(tile_nodes, nodes - first)};
      climb_rows<false>(tile, to, thread, &run, 1, scratch);
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
