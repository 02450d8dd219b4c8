// What SHA-256 hashes in a page's tree (RFC 6962, section 2.1): a leaf behind a zero byte, a node's
// two children behind a one.
#pragma once

#include "kernels/cuda/sha256_end.h"

namespace hitproof::kernels {

// Word `index` of the padded message 0x00 || data, byte by byte: leaves that are not aligned, or
// not whole words.
HITPROOF_BOTH std::uint32_t leaf_word(std::uint64_t data, std::uint32_t bytes,
                                      std::uint32_t index) {
  std::uint32_t word = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t at = 4 * index + i; // in the message
    std::uint32_t byte = 0;
    if (at != 0 && at <= bytes) byte = load_byte(data + at - 1);
    if (at == bytes + 1) byte = 0x80;
    word = word << 8 | byte;
  }
  return word;
}

// The mark behind the data of a leaf of whole words, if it is in the 64 bytes at `offset`.
HITPROOF_BOTH void put_mark(Quad (&quads)[4], std::uint32_t bytes, std::uint32_t offset) {
  if (bytes >= offset + 64) return;
  HITPROOF_UNROLL
  for (std::uint32_t i = 0; i < 16; ++i)
    if (offset + 4 * i == bytes) quads[i / 4].word[i % 4] = 0x80u;
}

// Leaf of `bytes` (1 to leaf_bytes) at `data`. Adds the bytes that are not zero to `nonzero` where
// `counts`. All leaves of a warp stay together in sha256_block, whatever their length. `stage`:
// this thread's own.
HITPROOF_BOTH void sha256_leaf(std::uint64_t data, std::uint32_t bytes, std::uint32_t (&state)[8],
                               bool counts, std::uint32_t& nonzero, LeafStage& stage) {
  const bool words = aligned16(data) && bytes % 4 == 0, full = words && bytes == leaf_bytes;
  // The last block of a full leaf is in the table.
  const std::uint32_t blocks = full ? leaf_bytes / 64 : (bytes + 1 + 8) / 64 + 1;
  std::uint32_t last = 0; // the word before this block; its last byte comes first here
  sha256_start(state);
  if (words) ask_quads(stage, data, bytes, 0);
  HITPROOF_ROLLED
  for (std::uint32_t block = 0; block < blocks; ++block) {
    std::uint32_t w[16];
    if (words) {
      Quad quads[4];
      take_quads(stage, quads);
      if (block + 1 < blocks) ask_quads(stage, data, bytes, 64 * (block + 1));
      put_mark(quads, bytes, 64 * block);
      std::uint32_t marked = 0;
      HITPROOF_UNROLL
      for (int i = 0; i < 4; ++i) {
        const Quad& q = quads[i];
        HITPROOF_UNROLL
        for (int j = 0; j < 4; ++j) {
          w[4 * i + j] = shifted(last, q.word[j]);
          last = q.word[j];
          // At most 16 marks a byte lane: they add up without carry.
          if (counts) marked += nonzero_mask(q.word[j]) >> 7;
        }
      }
      if (counts) nonzero += (marked * 0x01010101u) >> 24;
    } else {
      HITPROOF_UNROLL
      for (int i = 0; i < 16; ++i)
        w[i] = leaf_word(data, bytes, 16 * block + i);
      if (counts) {
        for (std::uint32_t i = 64 * block; i < 64 * (block + 1) && i < bytes; ++i)
          nonzero += load_byte(data + i) != 0;
      }
    }
    if (block + 1 == blocks && !full) w[15] = 8 * (bytes + 1);
    sha256_block(state, w);
  }
  if (full) sha256_last_block(state, leaf_end(last >> 24));
  // The mark behind the last word was counted with the words.
  if (counts && words && !full) --nonzero;
}

// Node of two children: SHA-256(0x01 || left || right), two blocks. Result in `left`.
// `stage`: this thread's own.
HITPROOF_BOTH void sha256_node(std::uint32_t (&left)[8], const std::uint32_t (&right)[8],
                               LeafStage& stage) {
  const std::uint32_t* const row = node_end(right[7] & 0xffu);
  ask_end(stage, row, 0);
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
  sha256_last_block(state, row, stage);
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    left[i] = state[i];
}

} // namespace hitproof::kernels
