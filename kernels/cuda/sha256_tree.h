// What SHA-256 hashes in a page's tree (schema/page_digest.h): a leaf behind a zero byte, a node's
// children behind a one.
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
template <bool Quick>
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
  if (full && end >= most_blocks) {
    const std::uint64_t row = end_row(Sha256End::leaf, leaf.last >> 24);
    Quad sums[4];
    ask_sums(row, sums);
    sha256_last_block<Quick>(leaf.state, row, sums);
  }
  return nonzero;
}

// The children of a node come in pairs: one pair is the data of one block. A full node's last block
// is in the table.
inline constexpr std::uint32_t child_words = 8, pair_words = 2 * child_words;
inline constexpr std::uint32_t node_pairs = tree_arity / 2; // most blocks but that last one
HITPROOF_BOTH std::uint32_t node_blocks(std::uint32_t children) {
  return children == tree_arity ? node_pairs : children / 2 + 1;
}
// Block `block` of a node of `count` children: SHA-256(0x01 || child || child ...). `words`: those
// of children 2 block and 2 block + 1, zeros where there are none; `last`: the word before them.
HITPROOF_BOTH void node_block(std::uint32_t (&words)[pair_words], std::uint32_t last,
                              std::uint32_t count, std::uint32_t block, std::uint32_t (&w)[16]) {
  if (2 * block + 1 == count) words[child_words] = 0x80000000u; // the mark behind all children
  if (2 * block == count) words[0] = 0x80000000u;
  HITPROOF_UNROLL
  for (std::uint32_t i = 0; i < pair_words; ++i)
    w[i] = (i == 0 ? last : words[i - 1]) << 24 | words[i] >> 8;
  if (count != tree_arity && block + 1 == node_blocks(count)) w[15] = node_message(count);
}
inline constexpr std::uint32_t node_prefix = 1; // the word before the first pair

// Node of `count` children, 2 to tree_arity. `pair(b, words)` writes the words of children 2 b and
// 2 b + 1, as far as there are such; it may use `stage` (this thread's own) unless b is the last
// pair of a full node. All nodes of a warp stay together in sha256_block.
template <class Pair>
HITPROOF_BOTH void sha256_node(std::uint32_t (&state)[8], std::uint32_t count, const Pair& pair,
                               LeafStage& stage) {
  const bool full = count == tree_arity;
  const std::uint32_t blocks = node_blocks(count);
  std::uint32_t last = node_prefix;
  std::uint64_t row = 0;
  sha256_start(state);
  HITPROOF_ROLLED
  for (std::uint32_t block = 0; block < blocks; ++block) {
    std::uint32_t words[pair_words] = {}, w[16];
    pair(block, words);
    node_block(words, last, count, block, w);
    last = words[pair_words - 1];
    if (full && block + 1 == blocks) {
      // On its way while this block is hashed: a warp is often alone at its level.
      row = end_row(Sha256End::node, last & 0xffu);
      touch(stage, row, end_bytes);
    }
    sha256_block(state, w);
  }
  if (!full) return;
  await_stage();
  Quad sums[4];
  ask_sums(row, sums);
  sha256_last_block<false>(state, row, sums);
}

} // namespace hitproof::kernels
