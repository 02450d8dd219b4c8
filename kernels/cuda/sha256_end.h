// The last blocks of a full leaf and of a full node. All of such a block but one byte is padding,
// so the 64 words that SHA-256 makes of it, each with its round's constant, stand in a table by
// that byte: the message schedule, nearly half of a block's work, is not done again for every leaf
// and node.
#pragma once

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

// Bits of the messages: a full leaf, and a node of `children`, each behind its prefix byte.
inline constexpr std::uint32_t leaf_message = 8 * (1 + leaf_bytes);
HITPROOF_BOTH constexpr std::uint32_t node_message(std::uint32_t children) {
  return 8 * (1 + 32 * children);
}
inline constexpr std::uint32_t end_bytes = 64 * sizeof(std::uint32_t); // of a row
enum class Sha256End : std::uint32_t { leaf, node };
#ifdef __CUDACC__
__device__ const Sha256Ends sha256_device_ends[2] = {sha256_ends(leaf_message),
                                                     sha256_ends(node_message(tree_arity))};
#endif

// The row of the last block of a full leaf, or of a full node; `byte`: the message's last.
HITPROOF_BOTH std::uint64_t end_row(Sha256End of, std::uint32_t byte) {
#ifdef __CUDA_ARCH__
  return reinterpret_cast<std::uint64_t>(
      sha256_device_ends[static_cast<std::uint32_t>(of)].sum[byte]);
#else
  static const Sha256Ends ends[2] = {sha256_ends(leaf_message),
                                     sha256_ends(node_message(tree_arity))};
  return reinterpret_cast<std::uint64_t>(ends[static_cast<std::uint32_t>(of)].sum[byte]);
#endif
}

// The sums of sixteen rounds, on their way while the sixteen before them are hashed.
HITPROOF_BOTH void ask_sums(std::uint64_t from, Quad (&sums)[4]) {
  HITPROOF_UNROLL
  for (std::uint32_t i = 0; i < 4; ++i)
    sums[i] = load_quad_cached(from + sizeof(Quad) * i);
}
// `next`: ask_sums of the row.
template <bool Quick>
HITPROOF_BOTH void sha256_last_block(std::uint32_t (&state)[8], std::uint64_t row,
                                     Quad (&next)[4]) {
  Sha256Words s{state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]};
  HITPROOF_ROLLED
  for (std::uint32_t sixteen = end_bytes / 4; sixteen <= end_bytes; sixteen += end_bytes / 4) {
    const std::uint32_t one = take_one();
    Quad sums[4];
    HITPROOF_UNROLL
    for (std::uint32_t i = 0; i < 4; ++i)
      sums[i] = next[i];
    ask_sums(row + sixteen % end_bytes, next);
    s.template rounds<Quick>(one, sums);
  }
  s.add_to(state);
}

} // namespace hitproof::kernels
