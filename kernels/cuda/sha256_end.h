// The last blocks of a full leaf and of a node. All of such a block but one byte is padding, so the
// 64 words that SHA-256 makes of it, each with its round's constant, stand in a table by that byte:
// the message schedule, nearly half of a block's work, is not done again for every leaf and node.
#pragma once

#include "kernels/cuda/leaf_stage.h"
#include "kernels/cuda/sha256_lane.h"

namespace hitproof::kernels {

struct Sha256Ends {
  alignas(
      16) std::uint32_t sum[256][64]; // word plus constant, by the message's last byte and round
};

// `bits`: length of the whole message, whose last byte is the first of this block.
constexpr Sha256Ends sha256_ends(std::uint32_t bits) {
  constexpr auto turned = [](std::uint32_t x, int n) { return x >> n | x << (32 - n); };
  Sha256Ends ends{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t w[64] = {};
    w[0] = byte << 24 | 0x800000u;
    w[15] = bits;
    for (int t = 0; t < 64; ++t) {
      if (t >= 16) {
        const std::uint32_t x = w[t - 15], y = w[t - 2];
        w[t] = w[t - 16] + w[t - 7] + (turned(x, 7) ^ turned(x, 18) ^ x >> 3) +
               (turned(y, 17) ^ turned(y, 19) ^ y >> 10);
      }
      ends.sum[byte][t] = w[t] + sha256_constants.k[t];
    }
  }
  return ends;
}

inline constexpr std::uint32_t leaf_bits = 8 * (1 + leaf_bytes), node_bits = 8 * (1 + 2 * 32);
#ifdef __CUDACC__
__device__ const Sha256Ends device_leaf_ends = sha256_ends(leaf_bits);
__device__ const Sha256Ends device_node_ends = sha256_ends(node_bits);
#endif

// The row of the last block of a full leaf, and of a node.
HITPROOF_BOTH const std::uint32_t* leaf_end(std::uint32_t byte) {
#ifdef __CUDA_ARCH__
  return device_leaf_ends.sum[byte];
#else
  static const Sha256Ends ends = sha256_ends(leaf_bits);
  return ends.sum[byte];
#endif
}
HITPROOF_BOTH const std::uint32_t* node_end(std::uint32_t byte) {
#ifdef __CUDA_ARCH__
  return device_node_ends.sum[byte];
#else
  static const Sha256Ends ends = sha256_ends(node_bits);
  return ends.sum[byte];
#endif
}

// The last block of a leaf: the row comes as it is wanted. Many leaves are on their way at once.
HITPROOF_BOTH void sha256_last_block(std::uint32_t (&state)[8], const std::uint32_t* row) {
  Sha256Words s{state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]};
  HITPROOF_ROLLED
  for (int sixteen = 0; sixteen < 64; sixteen += 16) {
    Quad sums[4];
    HITPROOF_UNROLL
    for (int i = 0; i < 4; ++i)
      sums[i] = load_quad_cached(reinterpret_cast<std::uint64_t>(row + sixteen + 4 * i));
    HITPROOF_UNROLL
    for (int t = 0; t < 16; ++t)
      s.round(sums[t / 4].word[t % 4]);
  }
  s.add_to(state);
}

// The last block of a node, whose warp is often alone at its level: the row is under way while the
// block before it is hashed.
HITPROOF_BOTH void ask_end(LeafStage& stage, const std::uint32_t* row, std::uint32_t from) {
  ask_quads(stage, reinterpret_cast<std::uint64_t>(row), 64 * sizeof *row, from * sizeof *row);
}
// Precondition: ask_end(stage, row, 0).
HITPROOF_BOTH void sha256_last_block(std::uint32_t (&state)[8], const std::uint32_t* row,
                                     LeafStage& stage) {
  Sha256Words s{state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]};
  HITPROOF_ROLLED
  for (std::uint32_t sixteen = 0; sixteen < 64; sixteen += 16) {
    Quad sums[4];
    take_quads(stage, sums);
    if (sixteen < 48) ask_end(stage, row, sixteen + 16);
    HITPROOF_UNROLL
    for (int t = 0; t < 16; ++t)
      s.round(sums[t / 4].word[t % 4]);
  }
  s.add_to(state);
}

} // namespace hitproof::kernels
