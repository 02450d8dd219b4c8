// What the device twins of page_ops.h and of schema's page digest work on: a list of pages of mixed
// sizes in one launch. The cost follows the bytes: the list is laid out as one row of chunks (byte
// operations) and one row of leaf slots (digests), and threads are dealt over those.
//
// Shared by host and device; everything that decides an index is written once and runs on both, so
// that tests without a GPU walk the same code.
#pragma once

#include "kernels/page_ops.h"

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define HITPROOF_BOTH __host__ __device__ inline
#define HITPROOF_BOTH_ONCE static __host__ __device__ __noinline__
#define HITPROOF_UNROLL _Pragma("unroll")
#define HITPROOF_ROLLED _Pragma("unroll 1")
#else
#define HITPROOF_BOTH inline
#define HITPROOF_BOTH_ONCE inline
#define HITPROOF_UNROLL
#define HITPROOF_ROLLED
#endif

namespace hitproof::kernels {

inline constexpr std::uint32_t warp_lanes = 32;
inline constexpr std::uint32_t chunk_bytes = 2048; // what one warp reads at once
inline constexpr std::uint32_t leaf_bytes = 1024;  // schema::page_leaf_bytes
inline constexpr std::uint64_t no_offset = ~std::uint64_t{0};

// One page of a list. Every address must stay readable (writable where the operation writes) by the
// device until the launch has ended; any alignment is right, 16 bytes is fast.
struct PageTask {
  std::uint64_t address = 0;
  std::uint64_t other = 0; // the second buffer of a comparison, the source of a copy
  std::uint64_t key = 0;   // of the poison
  std::uint32_t bytes = 0, content = 0;
  std::uint32_t first_chunk = 0, first_slot = 0, first_segment = 0; // filled in by lay_out
  std::uint32_t page = 0;                                           // the caller's own number of it
};
static_assert(sizeof(PageTask) == 48);

// One per task of a counting operation; must be `{}` before the launch.
//   compare  content, padding: bytes that differ; first: offset of the first one
//   nonzero  content, padding: bytes that are not zero
//   poison   all: whole words left; content: of these, words inside the content; tail: bytes of the
//            last partial word; first: byte offset of the first word left
struct PageCounts {
  std::uint64_t content = 0, padding = 0, all = 0, tail = 0;
  std::uint64_t first = no_offset;
};

// One per task of a digest; must be `{}` before the launch. Digests in the byte order of SHA-256.
struct PageRoots {
  std::uint32_t content[8] = {}, page[8] = {};
  std::uint64_t nonzero = 0; // content bytes that are not zero
};

HITPROOF_BOTH std::uint32_t chunks_of(std::uint32_t bytes) {
  return static_cast<std::uint32_t>((std::uint64_t{bytes} + chunk_bytes - 1) / chunk_bytes);
}
HITPROOF_BOTH std::uint32_t leaves_of(std::uint32_t bytes) {
  return static_cast<std::uint32_t>((std::uint64_t{bytes} + leaf_bytes - 1) / leaf_bytes);
}
// A tree is hashed in three legs. Blocks take tiles of leaf slots: pages that end in the tile to
// their root, others up to the nodes over `slot_step` leaves; the last block at a segment goes on
// to the segment's node; a page of several segments (more than 4 MiB) is finished by a launch of
// its own.
inline constexpr std::uint32_t arity_bits = 3;                // a node has up to eight children
inline constexpr std::uint32_t tree_arity = 1u << arity_bits; // schema::page_node_children
inline constexpr std::uint32_t leaf_levels = 1, segment_levels = 4;
inline constexpr std::uint32_t tile_leaves = 128; // a thread a leaf
inline constexpr std::uint32_t slot_step = 1u << arity_bits * leaf_levels;
inline constexpr std::uint32_t segment_leaves = 1u << arity_bits * segment_levels;

// Slots of a page in the row of leaves: whole steps, so that no node of the first levels lies over
// two pages. An empty page has a step as well, so that somebody writes its roots.
HITPROOF_BOTH std::uint32_t slots_of(std::uint32_t bytes) {
  const std::uint32_t leaves = leaves_of(bytes);
  return leaves == 0 ? slot_step : (leaves + slot_step - 1) / slot_step * slot_step;
}
HITPROOF_BOTH std::uint32_t segments_of(std::uint32_t bytes) {
  return bytes == 0 ? 1 : (leaves_of(bytes) - 1) / segment_leaves + 1;
}

struct PageLayout {
  std::uint32_t chunks = 0, slots = 0, segments = 0;
  std::uint32_t large = 0; // pages of several segments: the first ones
  std::uint32_t split = 0; // segments of pages that are longer than a tile: the first ones
};
// The most slots that lay_out can come to for `count` pages of `slots` together (slots_of): a page
// that fits a tile may begin behind a few empty places, and each size that divides a tile once
// behind as many as a tile has.
HITPROOF_BOTH std::uint64_t most_slots(std::uint64_t slots, std::size_t count) {
  std::uint64_t sizes = 0;
  for (std::uint32_t size = slot_step; size <= tile_leaves; size *= 2)
    ++sizes;
  return slots + std::uint64_t{tile_leaves / 8} * count + std::uint64_t{tile_leaves} * sizes;
}
// Sorts the list, largest page first (so that deep trees start early), and gives every page its
// place in the rows. A list may have 2^32 slots (4 TiB).
PageLayout lay_out(PageTask* tasks, std::size_t count) noexcept;

// The last task whose `First` (PageTask::first_chunk, first_slot) is at or before `at`.
// Precondition: there is one.
template <std::uint32_t PageTask::*First>
HITPROOF_BOTH std::uint32_t task_at(const PageTask* tasks, std::uint32_t count, std::uint32_t at) {
  std::uint32_t low = 0, high = count;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (tasks[middle].*First <= at ? low : high) = middle;
  }
  return low;
}

// What the host makes of the counts: the results of the CPU twins.
inline CompareResult compare_result(const PageCounts& c) {
  return {c.content + c.padding, static_cast<std::int64_t>(c.first)};
}
inline PoisonCount poison_result(const PageCounts& c) {
  return {c.all, c.content, c.tail, static_cast<std::int64_t>(c.first)};
}

} // namespace hitproof::kernels
