// Byte operations over a list of pages, as one lane of a warp sees them. All warps together pass
// over the list window by window, so that the memory in use at one time is near to itself; in a
// window a warp walks a contiguous run of chunks, keeps its sums in registers while the page stays
// the same, and adds them to the page's counts when the page changes.
#pragma once

#include "kernels/cuda/device_memory.h"

namespace hitproof::kernels {

// Adds the lanes of a warp together and hands the sum to one of them; on the host each lane is a
// warp of its own.
HITPROOF_BOTH void add_lanes(std::uint64_t* where, std::uint64_t n, std::uint32_t lane) {
#ifdef __CUDA_ARCH__
  if (__any_sync(0xffffffffu, n != 0) == 0) return;
  for (int step = 16; step > 0; step /= 2)
    n += __shfl_down_sync(0xffffffffu, n, step);
  if (lane == 0) add_to(where, n);
#else
  static_cast<void>(lane);
  add_to(where, n);
#endif
}

HITPROOF_BOTH void lower_lanes(std::uint64_t* where, std::uint64_t n, std::uint32_t lane) {
#ifdef __CUDA_ARCH__
  if (__any_sync(0xffffffffu, n != no_offset) == 0) return;
  for (int step = 16; step > 0; step /= 2) {
    const std::uint64_t other = __shfl_down_sync(0xffffffffu, n, step);
    n = other < n ? other : n;
  }
  if (lane == 0) lower_to(where, n);
#else
  static_cast<void>(lane);
  lower_to(where, n);
#endif
}

struct Sums {
  std::uint64_t content = 0, padding = 0, all = 0, tail = 0, first = no_offset;

  HITPROOF_BOTH void flush(PageCounts* counts, std::uint32_t lane) {
    add_lanes(&counts->content, content, lane);
    add_lanes(&counts->padding, padding, lane);
    add_lanes(&counts->all, all, lane);
    add_lanes(&counts->tail, tail, lane);
    lower_lanes(&counts->first, first, lane);
    *this = Sums{};
  }
};

// Bytes marked in `x` (nonzero_mask of four bytes at `offset` of the page), told apart by where the
// content ends.
HITPROOF_BOTH void add_marked(Sums& sums, const PageTask& task, std::uint64_t offset,
                              std::uint32_t mask) {
  if (mask == 0) return;
  if (offset + first_marked(mask) < sums.first) sums.first = offset + first_marked(mask);
  if (offset + 4 <= task.content) {
    sums.content += bits_in(mask);
  } else if (offset >= task.content) {
    sums.padding += bits_in(mask);
  } else {
    const std::uint32_t inside = mask & ((1u << (8 * (task.content - offset))) - 1);
    sums.content += bits_in(inside);
    sums.padding += bits_in(mask ^ inside);
  }
}

// ---- the operations: `quad` has 16 bytes at an aligned address, `bytes` the rest of a chunk or
// all of it where an address is not aligned.

struct Compare {
  static HITPROOF_BOTH bool aligned(const PageTask& t) {
    return aligned16(t.address) && aligned16(t.other);
  }
  struct Loaded {
    Quad a, b;
  };
  static HITPROOF_BOTH Loaded load(const PageTask& t, std::uint64_t offset) {
    return {load_quad(t.address + offset), load_quad(t.other + offset)};
  }
  static HITPROOF_BOTH void quad(Sums& sums, const PageTask& t, std::uint64_t offset,
                                 const Loaded& l) {
    std::uint32_t differ[4];
    for (int i = 0; i < 4; ++i)
      differ[i] = l.a.word[i] ^ l.b.word[i];
    if ((differ[0] | differ[1] | differ[2] | differ[3]) == 0) return;
    for (int i = 0; i < 4; ++i)
      add_marked(sums, t, offset + 4 * i, nonzero_mask(differ[i]));
  }
  static HITPROOF_BOTH void bytes(Sums& sums, const PageTask& t, std::uint64_t begin,
                                  std::uint64_t end, std::uint32_t lane) {
    for (std::uint64_t at = begin + lane; at < end; at += warp_lanes)
      add_marked(sums, t, at, load_byte(t.address + at) == load_byte(t.other + at) ? 0u : 0x80u);
  }
};

struct Nonzero {
  static HITPROOF_BOTH bool aligned(const PageTask& t) { return aligned16(t.address); }
  using Loaded = Quad;
  static HITPROOF_BOTH Loaded load(const PageTask& t, std::uint64_t offset) {
    return load_quad(t.address + offset);
  }
  static HITPROOF_BOTH void quad(Sums& sums, const PageTask& t, std::uint64_t offset,
                                 const Loaded& l) {
    for (int i = 0; i < 4; ++i)
      add_marked(sums, t, offset + 4 * i, nonzero_mask(l.word[i]));
  }
  static HITPROOF_BOTH void bytes(Sums& sums, const PageTask& t, std::uint64_t begin,
                                  std::uint64_t end, std::uint32_t lane) {
    for (std::uint64_t at = begin + lane; at < end; at += warp_lanes)
      add_marked(sums, t, at, load_byte(t.address + at) == 0 ? 0u : 0x80u);
  }
};

// Poison that is left. `begin` and `end - begin` of `bytes` are multiples of 8, but for the page's
// end.
struct Residue {
  static HITPROOF_BOTH bool aligned(const PageTask& t) { return aligned16(t.address); }
  using Loaded = Quad;
  static HITPROOF_BOTH Loaded load(const PageTask& t, std::uint64_t offset) {
    return load_quad(t.address + offset);
  }
  static HITPROOF_BOTH void word(Sums& sums, const PageTask& t, std::uint64_t index,
                                 std::uint64_t found) {
    if (found != poison_word(t.key, index)) return;
    if (index * poison_word_bytes < sums.first) sums.first = index * poison_word_bytes;
    ++sums.all;
    if (index < t.content / poison_word_bytes) ++sums.content;
  }
  static HITPROOF_BOTH void quad(Sums& sums, const PageTask& t, std::uint64_t offset,
                                 const Loaded& l) {
    word(sums, t, offset / poison_word_bytes, low_word(l));
    word(sums, t, offset / poison_word_bytes + 1, high_word(l));
  }
  static HITPROOF_BOTH void bytes(Sums& sums, const PageTask& t, std::uint64_t begin,
                                  std::uint64_t end, std::uint32_t lane) {
    std::uint64_t at = begin + std::uint64_t{lane} * poison_word_bytes;
    for (; at + poison_word_bytes <= end; at += warp_lanes * poison_word_bytes)
      word(sums, t, at / poison_word_bytes, load_word(t.address + at));
    if (at >= end) return;
    // Only the lane whose turn it would be sees the partial word.
    const std::uint64_t expected = poison_word(t.key, at / poison_word_bytes);
    for (std::uint64_t i = 0; at + i < end; ++i)
      sums.tail += load_byte(t.address + at + i) == static_cast<unsigned char>(expected >> (8 * i));
  }
};

struct Fill {
  static HITPROOF_BOTH bool aligned(const PageTask& t) { return aligned16(t.address); }
  struct Loaded {};
  static HITPROOF_BOTH Loaded load(const PageTask&, std::uint64_t) { return {}; }
  static HITPROOF_BOTH void quad(Sums&, const PageTask& t, std::uint64_t offset, const Loaded&) {
    const std::uint64_t low = poison_word(t.key, offset / poison_word_bytes);
    const std::uint64_t high = poison_word(t.key, offset / poison_word_bytes + 1);
    store_quad_once(t.address + offset,
                    {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                      static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)}});
  }
  static HITPROOF_BOTH void bytes(Sums&, const PageTask& t, std::uint64_t begin, std::uint64_t end,
                                  std::uint32_t lane) {
    for (std::uint64_t at = begin + lane; at < end; at += warp_lanes)
      store_byte(t.address + at,
                 static_cast<unsigned char>(poison_word(t.key, at / poison_word_bytes) >>
                                            (8 * (at % poison_word_bytes))));
  }
};

// `other` to `address`: brings pinned host pages over the bus once, in whole lines.
struct Copy {
  static HITPROOF_BOTH bool aligned(const PageTask& t) {
    return aligned16(t.address) && aligned16(t.other);
  }
  using Loaded = Quad;
  static HITPROOF_BOTH Loaded load(const PageTask& t, std::uint64_t offset) {
    return load_quad(t.other + offset);
  }
  static HITPROOF_BOTH void quad(Sums&, const PageTask& t, std::uint64_t offset, const Loaded& l) {
    store_quad(t.address + offset, l);
  }
  static HITPROOF_BOTH void bytes(Sums&, const PageTask& t, std::uint64_t begin, std::uint64_t end,
                                  std::uint32_t lane) {
    for (std::uint64_t at = begin + lane; at < end; at += warp_lanes)
      store_byte(t.address + at, load_byte(t.other + at));
  }
};

template <class Op>
HITPROOF_BOTH void do_chunk(Sums& sums, const PageTask& t, std::uint64_t begin,
                            std::uint32_t lane) {
  constexpr std::uint32_t row = warp_lanes * sizeof(Quad);
  constexpr std::uint32_t rows = chunk_bytes / row;
  const std::uint64_t left = t.bytes - begin;
  const std::uint64_t end = begin + (left < chunk_bytes ? left : chunk_bytes);
  if (!Op::aligned(t)) {
    Op::bytes(sums, t, begin, end, lane);
    return;
  }
  const std::uint64_t mine = begin + lane * sizeof(Quad);
  if (end - begin == chunk_bytes) {
    typename Op::Loaded loaded[rows];
    HITPROOF_UNROLL
    for (std::uint32_t i = 0; i < rows; ++i)
      loaded[i] = Op::load(t, mine + i * row);
    HITPROOF_UNROLL
    for (std::uint32_t i = 0; i < rows; ++i)
      Op::quad(sums, t, mine + i * row, loaded[i]);
    return;
  }
  const std::uint64_t whole = begin + (end - begin) / sizeof(Quad) * sizeof(Quad);
  for (std::uint64_t at = mine; at < whole; at += row)
    Op::quad(sums, t, at, Op::load(t, at));
  Op::bytes(sums, t, whole, end, lane);
}

// As task_at, by all lanes of a warp together: a thirty-third of the list is left after each step.
HITPROOF_BOTH std::uint32_t task_of_chunk(const PageTask* tasks, std::uint32_t count,
                                          std::uint32_t at, std::uint32_t lane) {
#ifdef __CUDA_ARCH__
  std::uint32_t low = 0, size = count; // the task is in [low, low + size)
  while (size > 1) {
    const std::uint32_t step = (size + warp_lanes) / (warp_lanes + 1);
    const std::uint32_t sample = (lane + 1) * step;
    const bool before = sample < size && tasks[low + sample].first_chunk <= at;
    const std::uint32_t skip = __popc(__ballot_sync(0xffffffffu, before)) * step;
    low += skip;
    size = size - skip < step ? size - skip : step;
  }
  return low;
#else
  static_cast<void>(lane);
  return task_at<&PageTask::first_chunk>(tasks, count, at);
#endif
}

inline constexpr std::uint32_t run_chunks = 16; // about what a warp takes of one window

// Lane `lane` of warp `warp` of `warps` over the whole list. `counts` may be null for operations
// that count nothing.
template <class Op>
HITPROOF_BOTH void walk_pages(const PageTask* tasks, std::uint32_t count, std::uint32_t chunks,
                              PageCounts* counts, std::uint32_t warp, std::uint32_t warps,
                              std::uint32_t lane) {
  const std::uint64_t window = std::uint64_t{run_chunks} * warps;
  const std::uint64_t runs = (chunks + window - 1) / window * warps;
  for (std::uint64_t run = warp; run < runs; run += warps) {
    std::uint32_t at = static_cast<std::uint32_t>(chunks * run / runs);
    const std::uint32_t end = static_cast<std::uint32_t>(chunks * (run + 1) / runs);
    if (at == end) continue;
    Sums sums;
    for (std::uint32_t i = task_of_chunk(tasks, count, at, lane); at < end; ++i) {
      const PageTask task = tasks[i];
      const std::uint32_t after = task.first_chunk + chunks_of(task.bytes);
      for (; at < after && at < end; ++at)
        do_chunk<Op>(sums, task, std::uint64_t{at - task.first_chunk} * chunk_bytes, lane);
      if (counts != nullptr) sums.flush(&counts[i], lane);
    }
  }
}

} // namespace hitproof::kernels
