// SHA-256 (FIPS 180-4) of one thread, in registers: its rounds. States are words in the order of
// the standard. sha256_tree.h makes leaves and nodes of them.
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

struct Sha256Constants {
  std::uint32_t k[64];
};
inline constexpr Sha256Constants sha256_constants = {
    {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
     0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
     0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
     0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
     0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
     0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
     0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
     0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
     0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
     0xc67178f2}};
#ifdef __CUDACC__
__constant__ const Sha256Constants sha256_device_constants = sha256_constants;
#endif
HITPROOF_BOTH std::uint32_t sha256_constant(int round) {
#ifdef __CUDA_ARCH__
  return sha256_device_constants.k[round];
#else
  return sha256_constants.k[round];
#endif
}

struct Sha256Words {
  std::uint32_t a, b, c, d, e, f, g, h;

  // `sum`: the round's word plus its constant.
  HITPROOF_BOTH void round(std::uint32_t sum) {
    const std::uint32_t known = add(sum, h); // before e is
    const std::uint32_t chosen = (e & f) ^ (~e & g);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t turned_e = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const std::uint32_t turned_a = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const std::uint32_t first = add(turned_e, add(chosen, known));
    const std::uint32_t second = add(turned_a, majority);
    h = g;
    g = f;
    f = e;
    e = add(d, first);
    d = c;
    c = b;
    b = a;
    a = add(first, second);
  }
  HITPROOF_BOTH void add_to(std::uint32_t (&state)[8]) const {
    const std::uint32_t words[8] = {a, b, c, d, e, f, g, h};
    HITPROOF_UNROLL
    for (int i = 0; i < 8; ++i)
      state[i] = add(state[i], words[i]);
  }
};

// One block of 16 words; `w` is used up. Rounds come in sixteens: all 64 of them spelled out are
// more code than a processor keeps beside its schedulers, and then it waits for code.
HITPROOF_BOTH void sha256_block(std::uint32_t (&state)[8], std::uint32_t (&w)[16]) {
  Sha256Words s{state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]};
  HITPROOF_UNROLL
  for (int t = 0; t < 16; ++t)
    s.round(add(w[t], sha256_constant(t)));
  HITPROOF_ROLLED
  for (int sixteen = 16; sixteen < 64; sixteen += 16) {
    HITPROOF_UNROLL
    for (int t = 0; t < 16; ++t) {
      const std::uint32_t x = w[(t + 1) & 15], y = w[(t + 14) & 15];
      const std::uint32_t near = rotate(x, 7) ^ rotate(x, 18) ^ x >> 3;
      const std::uint32_t far = rotate(y, 17) ^ rotate(y, 19) ^ y >> 10;
      w[t] = add(add(w[t], w[(t + 9) & 15]), add(near, far));
      s.round(add(w[t], sha256_constant(sixteen + t)));
    }
  }
  s.add_to(state);
}

// SHA-256 of no bytes: the root of an empty tree.
HITPROOF_BOTH void sha256_of_nothing(std::uint32_t (&state)[8]) {
  constexpr std::uint32_t digest[8] = {0xe3b0c442, 0x98fc1c14, 0x9afbf4c8, 0x996fb924,
                                       0x27ae41e4, 0x649b934c, 0xa495991b, 0x7852b855};
  HITPROOF_UNROLL
  for (int i = 0; i < 8; ++i)
    state[i] = digest[i];
}

} // namespace hitproof::kernels
