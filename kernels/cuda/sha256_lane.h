// SHA-256 (FIPS 180-4) of one thread, in registers: one leaf of a page and one node of its tree
// (RFC 6962, section 2.1). States are words in the order of the standard.
#pragma once

#include "kernels/cuda/device_memory.h"

namespace hitproof::kernels {

HITPROOF_BOTH std::uint32_t rotate(std::uint32_t x, int n) { return x >> n | x << (32 - n); }

// The bytes of `cur` in big-endian order, shifted by one: the last byte of `prev` comes first. A
// leaf's message is its data behind one prefix byte.
HITPROOF_BOTH std::uint32_t shifted(std::uint32_t prev, std::uint32_t cur) {
#ifdef __CUDA_ARCH__
  return __byte_perm(prev, cur, 0x3456);
#else
  return (prev & 0xff000000u) | (cur & 0xffu) << 16 | (cur & 0xff00u) | (cur >> 16 & 0xffu);
#endif
}

HITPROOF_BOTH std::uint32_t swapped(std::uint32_t x) {
#ifdef __CUDA_ARCH__
  return __byte_perm(x, 0, 0x0123);
#else
  return __builtin_bswap32(x);
#endif
}

// x + y. The integer pipe, which has to do every shift and every logical operation, is what limits
// a hash; multiply-add has a pipe of its own, and the grid's z size is a one that the compiler does
// not know. Precondition: launched with one row of blocks.
HITPROOF_BOTH std::uint32_t add(std::uint32_t x, std::uint32_t y) {
#ifdef __CUDA_ARCH__
  std::uint32_t sum;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(gridDim.z), "r"(y));
  return sum;
#else
  return x + y;
#endif
}

HITPROOF_BOTH void sha256_start(std::uint32_t (&state)[8]) {
  constexpr std::uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    state[i] = start[i];
}

#ifdef __CUDACC__
__constant__
#else
inline constexpr
#endif
    const std::uint32_t sha256_k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2};

struct Sha256Words {
  std::uint32_t a, b, c, d, e, f, g, h;

  HITPROOF_BOTH void round(std::uint32_t word, std::uint32_t constant) {
    const std::uint32_t known = add(add(word, constant), h); // before e is
    const std::uint32_t chosen = (e & f) ^ (~e & g);
    const std::uint32_t first =
        add(rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25), add(chosen, known));
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t second = add(rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22), majority);
    h = g;
    g = f;
    f = e;
    e = add(d, first);
    d = c;
    c = b;
    b = a;
    a = add(first, second);
  }
};

// One block of 16 words; `w` is used up. Rounds come in sixteens: all 64 of them spelled out are
// more code than a processor keeps beside its schedulers, and then it waits for code.
HITPROOF_BOTH void sha256_block(std::uint32_t (&state)[8], std::uint32_t (&w)[16]) {
  Sha256Words s{state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]};
  HITPROOF_UNROLL
  for (int t = 0; t < 16; ++t)
    s.round(w[t], sha256_k[t]);
  HITPROOF_ROLLED
  for (int sixteen = 16; sixteen < 64; sixteen += 16) {
    HITPROOF_UNROLL
    for (int t = 0; t < 16; ++t) {
      const std::uint32_t x = w[(t + 1) & 15], y = w[(t + 14) & 15];
      const std::uint32_t near = rotate(x, 7) ^ rotate(x, 18) ^ x >> 3;
      const std::uint32_t far = rotate(y, 17) ^ rotate(y, 19) ^ y >> 10;
      w[t] = add(add(w[t], w[(t + 9) & 15]), add(near, far));
      s.round(w[t], sha256_k[sixteen + t]);
    }
  }
  state[0] += s.a;
  state[1] += s.b;
  state[2] += s.c;
  state[3] += s.d;
  state[4] += s.e;
  state[5] += s.f;
  state[6] += s.g;
  state[7] += s.h;
}

// SHA-256 of no bytes: the root of an empty tree.
HITPROOF_BOTH void sha256_of_nothing(std::uint32_t (&state)[8]) {
  constexpr std::uint32_t digest[8] = {0xe3b0c442, 0x98fc1c14, 0x9afbf4c8, 0x996fb924,
                                       0x27ae41e4, 0x649b934c, 0xa495991b, 0x7852b855};
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    state[i] = digest[i];
}

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

// 16 bytes at `offset` of an aligned leaf of whole words, with what the padding puts behind its
// end.
HITPROOF_BOTH Quad leaf_quad(std::uint64_t data, std::uint32_t bytes, std::uint32_t offset) {
  if (offset + sizeof(Quad) <= bytes) return load_quad_cached(data + offset);
  Quad q;
  HITPROOF_UNROLL
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t at = offset + 4 * i;
    q.word[i] = at < bytes ? load_word32_cached(data + at) : at == bytes ? 0x80u : 0u;
  }
  return q;
}

// Leaf of `bytes` (1 to leaf_bytes) at `data`. Adds the bytes that are not zero to `nonzero` where
// `counts`. All leaves of a warp stay together in sha256_block, whatever their length.
HITPROOF_BOTH void sha256_leaf(std::uint64_t data, std::uint32_t bytes, std::uint32_t (&state)[8],
                               bool counts, std::uint32_t& nonzero) {
  const bool words = aligned16(data) && bytes % 4 == 0;
  const std::uint32_t blocks = (bytes + 1 + 8) / 64 + 1;
  std::uint32_t last = 0; // the word before this block; its last byte comes first here
  sha256_start(state);
  HITPROOF_ROLLED
  for (std::uint32_t block = 0; block < blocks; ++block) {
    std::uint32_t w[16];
    if (words) {
      std::uint32_t marked = 0;
      HITPROOF_UNROLL
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t offset = 64 * block + 16 * static_cast<std::uint32_t>(i);
        const Quad q = leaf_quad(data, bytes, offset);
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
    if (block + 1 == blocks) w[15] = 8 * (bytes + 1);
    sha256_block(state, w);
  }
  // The mark behind the last word was counted with the words.
  if (counts && words) --nonzero;
}

// Node of two children: SHA-256(0x01 || left || right), two blocks. Result in `left`.
HITPROOF_BOTH void sha256_node(std::uint32_t (&left)[8], const std::uint32_t (&right)[8]) {
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
  HITPROOF_ROLLED
  for (int block = 0; block < 2; ++block) {
    sha256_block(state, w);
    w[0] = right[7] << 24 | 0x00800000u;
    HITPROOF_UNROLL
    for (int i = 1; i < 15; ++i)
      w[i] = 0;
    w[15] = 8 * 65;
  }
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    left[i] = state[i];
}

} // namespace hitproof::kernels
