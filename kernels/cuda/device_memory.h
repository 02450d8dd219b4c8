// Loads, stores and atomics that are one instruction on the device and plain C++ on the host.
#pragma once

#include "kernels/cuda/page_batch.h"

#include <cstring>

namespace hitproof::kernels {

struct alignas(16) Quad {
  std::uint32_t word[4];
};

HITPROOF_BOTH bool aligned16(std::uint64_t address) { return (address & 15) == 0; }

// Streaming: every byte is read once, so it need not push anything out of the cache.
HITPROOF_BOTH Quad load_quad(std::uint64_t address) {
  Quad quad;
#ifdef __CUDA_ARCH__
  const uint4 v = __ldcs(reinterpret_cast<const uint4*>(address));
  quad = {{v.x, v.y, v.z, v.w}};
#else
  std::memcpy(&quad, reinterpret_cast<const void*>(address), sizeof quad);
#endif
  return quad;
}

// Cached: other threads read the same.
HITPROOF_BOTH Quad load_quad_cached(std::uint64_t address) {
#ifdef __CUDA_ARCH__
  const uint4 v = __ldg(reinterpret_cast<const uint4*>(address));
  return {{v.x, v.y, v.z, v.w}};
#else
  return load_quad(address);
#endif
}

HITPROOF_BOTH void store_quad(std::uint64_t address, const Quad& quad) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<uint4*>(address) =
      make_uint4(quad.word[0], quad.word[1], quad.word[2], quad.word[3]);
#else
  std::memcpy(reinterpret_cast<void*>(address), &quad, sizeof quad);
#endif
}

// Streaming, as above: what is written here is overwritten by a copy before anybody computes on it.
HITPROOF_BOTH void store_quad_once(std::uint64_t address, const Quad& quad) {
#ifdef __CUDA_ARCH__
  __stcs(reinterpret_cast<uint4*>(address),
         make_uint4(quad.word[0], quad.word[1], quad.word[2], quad.word[3]));
#else
  store_quad(address, quad);
#endif
}

HITPROOF_BOTH unsigned char load_byte(std::uint64_t address) {
  return *reinterpret_cast<const unsigned char*>(address);
}
HITPROOF_BOTH void store_byte(std::uint64_t address, unsigned char byte) {
  *reinterpret_cast<unsigned char*>(address) = byte;
}

// Eight bytes at any address.
HITPROOF_BOTH std::uint64_t load_word(std::uint64_t address) {
  std::uint64_t word = 0;
  for (int i = 0; i < 8; ++i)
    word |= std::uint64_t{load_byte(address + i)} << (8 * i);
  return word;
}

HITPROOF_BOTH std::uint64_t low_word(const Quad& q) {
  return q.word[0] | std::uint64_t{q.word[1]} << 32;
}
HITPROOF_BOTH std::uint64_t high_word(const Quad& q) {
  return q.word[2] | std::uint64_t{q.word[3]} << 32;
}

// The highest bit of every byte that is not zero.
HITPROOF_BOTH std::uint32_t nonzero_mask(std::uint32_t x) {
  return (((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x) & 0x80808080u;
}
HITPROOF_BOTH std::uint32_t bits_in(std::uint32_t x) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__popc(x));
#else
  return static_cast<std::uint32_t>(__builtin_popcount(x));
#endif
}
// Index of the first byte that nonzero_mask marked. Precondition: there is one.
HITPROOF_BOTH std::uint32_t first_marked(std::uint32_t mask) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__ffs(static_cast<int>(mask)) - 1) / 8;
#else
  return static_cast<std::uint32_t>(__builtin_ctz(mask)) / 8;
#endif
}

// Sums and minima: the order of the threads does not matter.
HITPROOF_BOTH void add_to(std::uint64_t* where, std::uint64_t n) {
#ifdef __CUDA_ARCH__
  if (n != 0) atomicAdd(reinterpret_cast<unsigned long long*>(where), n);
#else
  *where += n;
#endif
}
HITPROOF_BOTH void lower_to(std::uint64_t* where, std::uint64_t n) {
#ifdef __CUDA_ARCH__
  if (n != no_offset) atomicMin(reinterpret_cast<unsigned long long*>(where), n);
#else
  if (n < *where) *where = n;
#endif
}

} // namespace hitproof::kernels
