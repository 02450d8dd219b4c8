// The elementary functions and number formats of numeric.h and simd.h for one value: the same
// operations in the same order, so the same bits.
#pragma once

#include <cstdint>
#include <cuda_runtime.h>

namespace hitproof::kernels::cuda {

// As the vector instructions choose: the second operand where one is NaN.
__device__ inline float min_of(float a, float b) { return a < b ? a : b; }
__device__ inline float max_of(float a, float b) { return a > b ? a : b; }

inline constexpr float exp_lowest = -87.33654f;  // below: 0
inline constexpr float exp_highest = 88.722834f; // above: infinity

// e^x for x in [exp_lowest, exp_highest]; NaN for NaN.
__device__ inline float exp_inner(float x) {
  const float n = rintf(x * 1.44269504088896341f);
  float r = fmaf(-n, 0.693359375f, x);
  r = fmaf(-n, -2.12194440e-4f, r);
  float p = 1.9875691500e-4f;
  p = fmaf(p, r, 1.3981999507e-3f);
  p = fmaf(p, r, 8.3334519073e-3f);
  p = fmaf(p, r, 4.1665795894e-2f);
  p = fmaf(p, r, 1.6666665459e-1f);
  p = fmaf(p, r, 5.0000001201e-1f);
  p = fmaf(p, r * r, r) + 1.0f;
  const uint32_t shift = static_cast<uint32_t>(static_cast<int32_t>(n)) << 23;
  return __uint_as_float(__float_as_uint(p) + shift);
}

__device__ inline float exponential(float x) {
  const float y = exp_inner(max_of(exp_lowest, min_of(exp_highest, x)));
  if (x < exp_lowest) return 0.0f;
  return x > exp_highest ? __uint_as_float(0x7f800000u) : y;
}

__device__ inline float one_plus_exp_minus(float x) {
  return exp_inner(max_of(exp_lowest, min_of(87.0f, -x))) + 1.0f;
}
__device__ inline float sigmoid(float x) { return 1.0f / one_plus_exp_minus(x); }
__device__ inline float silu(float x) { return x / one_plus_exp_minus(x); }

__device__ inline uint16_t to_bf16(float v) {
  const uint32_t bits = __float_as_uint(v);
  if (v != v) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
__device__ inline float from_bf16(uint16_t v) {
  return __uint_as_float(static_cast<uint32_t>(v) << 16);
}
__device__ inline float round_bf16(float v) { return from_bf16(to_bf16(v)); }
// For activations: a NaN with all payload bits set would be lost.
__device__ inline float round_bf16_activation(float v) {
  const uint32_t bits = __float_as_uint(v);
  return __uint_as_float((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

__device__ inline float from_e4m3(uint8_t code) {
  const uint32_t sign = (code & 0x80u) << 24;
  const uint32_t magnitude = code & 0x7fu;
  if (magnitude == 0x7fu) return __uint_as_float(sign | 0x7fc00000u);
  // As an fp32 number the seven bits have an exponent 120 too low, subnormals included.
  return __uint_as_float(__float_as_uint(__uint_as_float(magnitude << 20) * 0x1p120f) | sign);
}

__device__ inline uint8_t to_e4m3(float v) {
  if (v != v) return 0x7fu;
  const uint32_t sign = (__float_as_uint(v) >> 24) & 0x80u;
  const float a = min_of(448.0f, fabsf(v));
  const uint32_t bits = __float_as_uint(a);
  uint32_t code = ((bits + 0x7ffffu + ((bits >> 20) & 1u)) >> 20) - ((127u - 7u) << 3);
  // Subnormals have a spacing of 2^-9, which is the last place of 2^14: the addition rounds.
  if (a < 0.015625f) code = __float_as_uint(a + 16384.0f) - __float_as_uint(16384.0f);
  return static_cast<uint8_t>(code | sign);
}

// Pages have no alignment: numbers go byte by byte.
__device__ inline void store_bytes(uint8_t* to, float value) {
  const uint32_t bits = __float_as_uint(value);
  for (int i = 0; i < 4; ++i)
    to[i] = static_cast<uint8_t>(bits >> (8 * i));
}
__device__ inline float load_bytes(const uint8_t* from) {
  uint32_t bits = 0;
  for (int i = 0; i < 4; ++i)
    bits |= static_cast<uint32_t>(from[i]) << (8 * i);
  return __uint_as_float(bits);
}

} // namespace hitproof::kernels::cuda
