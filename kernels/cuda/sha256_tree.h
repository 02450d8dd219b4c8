// What SHA-256 hashes in a page's tree (RFC 6962, section 2.1): a leaf behind a zero byte, a node's
// two children behind a one.
#pragma once

#include "kernels/cuda/leaf_stage.h"
#include "kernels/cuda/sha256_end.h"

namespace hitproof::kernels {

// The mark behind the data of a leaf, if it is in the 64 bytes at `offset`.
HITPROOF_BOTH void put_mark(Quad (&quads)[4], std::uint32_t bytes, std::uint32_t offset) {
  if (bytes < offset || bytes >= offset + 64) return;
  HITPROOF_UNROLL
  for (std::uint32_t i = 0; i < 16; ++i)
    if (offset + 4 * i == (bytes & ~3u)) quads[i / 4].word[i % 4] |= 0x80u << (8 * (bytes % 4));
}
HITPROOF_BOTH std::uint32_t nonzero_bytes(const Quad (&quads)[4]) {
  const std::uint32_t one = take_one();
  std::uint32_t marked = 0; // 128 for each
  HITPROOF_UNROLL
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t x = quads[i / 4].word[i % 4];
    // As nonzero_mask, with its sums where the integer pipe has no part in them.
    const std::uint32_t mask = (add(one, x & 0x7f7f7f7fu, 0x7f7f7f7fu) | x) & 0x80808080u;
#ifdef __CUDA_ARCH__
    marked = __dp4a(mask, 0x01010101u, marked);
#else
    marked += 128 * bits_in(mask);
#endif
  }
  return marked / 128;
}

// A leaf on its way.
struct LeafHash {
  std::uint32_t state[8];
  std::uint32_t last; // the word before the next block, whose last byte comes first there
};
HITPROOF_BOTH void begin_leaf(LeafHash& leaf) {
  sha256_start(leaf.state);
  leaf.last = 0;
}

inline constexpr std::uint32_t leaf_blocks = leaf_bytes / 64; // and one for the end
inline constexpr std::uint32_t most_blocks = leaf_blocks + 1;

// Hashes blocks `from` to `end` (at least most_blocks: all that are left) of a leaf of `bytes` (1
// to leaf_bytes) at `data`. Returns how many of their bytes are not zero, or nothing unless
// `counts`. All leaves of a warp stay together in sha256_block, whatever their length. `stage`:
// this thread's.
HITPROOF_BOTH std::uint32_t sha256_leaf(LeafHash& leaf, std::uint64_t data, std::uint32_t bytes,
                                        std::uint32_t from, std::uint32_t end, bool counts,
                                        LeafStage& stage) {
  const bool full = bytes == leaf_bytes;
  // The last block of a full leaf is in the table.
  const std::uint32_t blocks = full ? leaf_blocks : (bytes + 1 + 8) / 64 + 1;
  const std::uint32_t stop = end < blocks ? end : blocks;
  std::uint32_t nonzero = 0;
  if (from < stop) ask_leaf(stage, data, bytes, 64 * from);
  HITPROOF_ROLLED
  for (std::uint32_t block = from; block < stop; ++block) {
    std::uint32_t w[16];
    Quad quads[4];
    take_quads(stage, quads);
    if (block + 1 < stop) ask_leaf(stage, data, bytes, 64 * (block + 1));
    if (counts) nonzero += nonzero_bytes(quads);
    if (!full) put_mark(quads, bytes, 64 * block);
    HITPROOF_UNROLL
    for (int i = 0; i < 16; ++i) {
      const std::uint32_t word = quads[i / 4].word[i % 4];
      w[i] = shifted(leaf.last, word);
      leaf.last = word;
    }
    if (block + 1 == blocks && !full) w[15] = 8 * (bytes + 1);
    sha256_block(leaf.state, w);
  }
  if (full && end >= most_blocks)
    sha256_last_block(leaf.state, end_row(Sha256End::leaf, leaf.last >> 24));
  return nonzero;
}

// Node of two children: SHA-256(0x01 || left || right), two blocks. Result in `left`.
// `stage`: this thread's own.
HITPROOF_BOTH void sha256_node(std::uint32_t (&left)[8], const std::uint32_t (&right)[8],
                               LeafStage& stage) {
  // Under way while the first block is hashed: a warp is often alone at its level.
  const std::uint64_t row = end_row(Sha256End::node, right[7] & 0xffu);
  touch(stage, row, end_bytes);
  std::uint32_t state[8], w[16];
  sha256_start(state);
  w[0] = 0x01000000u | left[0] >> 8;
  HITPROOF_UNROLL
  for (int i = 1; i < 8; ++i)
    w[i] = left[i - 1] << 24 | left[i] >> 8;
  w[8] = left[7] << 24 | right[0] >> 8;
  HITPROOF_UNROLL
  for (int i = 1; i < 8; ++i)
    w[8 + i] = right[i - 1] << 24 | right[i] >> 8;
  sha256_block(state, w);
  sha256_last_block(state, row);
  await_stage();
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    left[i] = state[i];
}

} // namespace hitproof::kernels
