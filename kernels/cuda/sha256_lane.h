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

// A one of which the compiler knows nothing: see add(). Taken anew for each sixteen rounds, so that
// it stays in a register that a whole warp shares; one of each lane's own would cost the
// multiply-adds a read of their own. Precondition: launched with one row of blocks.
HITPROOF_BOTH std::uint32_t take_one() {
#ifdef __CUDA_ARCH__
  std::uint32_t one;
  asm volatile("mov.u32 %0, %%nctaid.z;" : "=r"(one));
  return one;
#else
  return 1;
#endif
}

// x + y. The integer pipe, which has to do every shift and every logical operation, is what limits
// a hash; multiply-add has a pipe of its own.
HITPROOF_BOTH std::uint32_t add(std::uint32_t one, std::uint32_t x, std::uint32_t y) {
#ifdef __CUDA_ARCH__
  std::uint32_t sum;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(one), "r"(y));
  return sum;
#else
  return one * x + y;
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
  alignas(16) std::uint32_t k[64];
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
// Of rounds 4 quad to 4 quad + 3.
HITPROOF_BOTH Quad sha256_constant(std::uint32_t quad) {
#ifdef __CUDA_ARCH__
  const uint4 v = reinterpret_cast<const uint4*>(sha256_device_constants.k)[quad];
  return {{v.x, v.y, v.z, v.w}};
#else
  Quad q;
  std::memcpy(&q, sha256_constants.k + 4 * quad, sizeof q);
  return q;
#endif
}
// `x`, of which the compiler does not know that all lanes have the same: what an index common to a
// warp selects would come through the warp's shared registers, and late.
HITPROOF_BOTH std::uint32_t own(std::uint32_t x) {
#ifdef __CUDA_ARCH__
  std::uint32_t before;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before));
  return x + (before >> 31); // no lane has 32 before it
#else
  return x;
#endif
}

struct Sha256Words {
  std::uint32_t a, b, c, d, e, f, g, h;

  // `one`: take_one(). `sum`: the round's word plus its constant. Quick: for a warp that waits for
  // its own sums, not for the pipes. With one sum more, both chains of a round (e to e, a to a) are
  // a rotation, a parity and one sum long.
  template <bool Quick = false> HITPROOF_BOTH void round(std::uint32_t one, std::uint32_t sum) {
    const std::uint32_t known = add(one, sum, h); // before e is
    const std::uint32_t chosen = (e & f) ^ (~e & g);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t turned_e = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const std::uint32_t turned_a = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const std::uint32_t first = add(one, turned_e, add(one, chosen, known));
    h = g;
    g = f;
    f = e;
    e = Quick ? add(one, turned_e, add(one, chosen, add(one, known, d))) : add(one, d, first);
    d = c;
    c = b;
    b = a;
    a = Quick ? add(one, turned_a, add(one, majority, first))
              : add(one, first, add(one, turned_a, majority));
  }
  // Sixteen rounds; `sums`: the words plus their constants.
  template <bool Quick> HITPROOF_BOTH void rounds(std::uint32_t one, const Quad (&sums)[4]) {
    HITPROOF_UNROLL
    for (int t = 0; t < 16; ++t)
      round<Quick>(one, sums[t / 4].word[t % 4]);
  }
  HITPROOF_BOTH void add_to(std::uint32_t (&state)[8]) const {
    const std::uint32_t one = take_one();
    const std::uint32_t words[8] = {a, b, c, d, e, f, g, h};
    HITPROOF_UNROLL
    for (int i = 0; i < 8; ++i)
      state[i] = add(one, state[i], words[i]);
  }
};

// Word t of a block's message schedule, from the sixteen before it. `w`: word t in place t % 16.
HITPROOF_BOTH std::uint32_t scheduled(std::uint32_t one, const std::uint32_t (&w)[16],
                                      std::uint32_t t) {
  const std::uint32_t x = w[(t + 1) & 15], y = w[(t + 14) & 15];
  const std::uint32_t near = rotate(x, 7) ^ rotate(x, 18) ^ x >> 3;
  const std::uint32_t far = rotate(y, 17) ^ rotate(y, 19) ^ y >> 10;
  return add(one, add(one, w[t & 15], w[(t + 9) & 15]), add(one, near, far));
}

// One block of 16 words; `w` is used up. Rounds come in sixteens: all 64 of them spelled out are
// more code than a processor keeps beside its schedulers, and then it waits for code.
HITPROOF_BOTH void sha256_block(std::uint32_t (&state)[8], std::uint32_t (&w)[16]) {
  Sha256Words s{state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]};
  std::uint32_t one = take_one();
  HITPROOF_UNROLL
  for (std::uint32_t t = 0; t < 16; ++t)
    s.round(one, add(one, w[t], sha256_constant(t / 4).word[t % 4]));
  HITPROOF_ROLLED
  for (std::uint32_t quad = own(4); quad < 16; quad += 4) {
    one = take_one();
    Quad k[4];
    HITPROOF_UNROLL
    for (std::uint32_t i = 0; i < 4; ++i)
      k[i] = sha256_constant(quad + i);
    HITPROOF_UNROLL
    for (std::uint32_t t = 0; t < 16; ++t) {
      w[t] = scheduled(one, w, t);
      s.round(one, add(one, w[t], k[t / 4].word[t % 4]));
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
