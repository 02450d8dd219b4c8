// AVX2 building blocks shared by the kernels' sources; not for other rooms.
// All functions act lane by lane, so a value's bits never depend on its neighbours.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace hitproof::kernels::simd {

inline constexpr int lanes = 8;

inline __m256 load(const float* p) { return _mm256_loadu_ps(p); }
inline void store(float* p, __m256 v) { _mm256_storeu_ps(p, v); }
inline __m256 splat(float v) { return _mm256_set1_ps(v); }
inline __m256 bcast(const float* p) { return _mm256_broadcast_ss(p); }
inline __m256 add(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
inline __m256 sub(__m256 a, __m256 b) { return _mm256_sub_ps(a, b); }
inline __m256 mul(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
inline __m256 div(__m256 a, __m256 b) { return _mm256_div_ps(a, b); }
inline __m256 fma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }

// f(0), f(1), ... f(N-1) with constant arguments. Loops over arrays of vectors are written with this:
// the compiler keeps such an array in registers only if every index is a constant early enough.
template <int N, class F>
[[gnu::always_inline]] inline void unroll(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

// First n lanes (0 to 8) selected.
inline __m256i head_mask(int n) {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), index);
}
inline __m256 load_head(const float* p, int n) { return _mm256_maskload_ps(p, head_mask(n)); }
inline void store_head(float* p, __m256 v, int n) { _mm256_maskstore_ps(p, head_mask(n), v); }

// ((l0+l4)+(l2+l6)) + ((l1+l5)+(l3+l7)): the one order in which lanes are summed everywhere.
inline float sum_lanes(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  s = _mm_add_ss(s, _mm_movehdup_ps(s));
  return _mm_cvtss_f32(s);
}
inline float max_lanes(__m256 v) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  s = _mm_max_ss(s, _mm_movehdup_ps(s));
  return _mm_cvtss_f32(s);
}
inline __m256 abs(__m256 v) { return _mm256_andnot_ps(splat(-0.0f), v); }

// e^x for x in [-87.3, 88.3]; NaN for NaN. Argument reduction by ln 2 in two parts, degree 7.
inline __m256 exp_inner(__m256 x) {
  const __m256 n = _mm256_round_ps(mul(x, splat(1.44269504088896341f)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, splat(0.693359375f), x);
  r = _mm256_fnmadd_ps(n, splat(-2.12194440e-4f), r);
  __m256 p = splat(1.9875691500e-4f);
  p = fma(p, r, splat(1.3981999507e-3f));
  p = fma(p, r, splat(8.3334519073e-3f));
  p = fma(p, r, splat(4.1665795894e-2f));
  p = fma(p, r, splat(1.6666665459e-1f));
  p = fma(p, r, splat(5.0000001201e-1f));
  p = add(fma(p, mul(r, r), r), splat(1.0f));
  const __m256i shift = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), shift));
}

inline constexpr float exp_lowest = -87.33654f;   // below: 0
inline constexpr float exp_highest = 88.722834f;  // above: infinity

inline __m256 exp(__m256 x) {
  // min and max return their second operand where either is NaN, so NaN passes through.
  const __m256 clamped = _mm256_max_ps(splat(exp_lowest), _mm256_min_ps(splat(exp_highest), x));
  const __m256 low = _mm256_cmp_ps(x, splat(exp_lowest), _CMP_LT_OQ);
  const __m256 high = _mm256_cmp_ps(x, splat(exp_highest), _CMP_GT_OQ);
  const __m256 y = _mm256_andnot_ps(low, exp_inner(clamped));
  return _mm256_blendv_ps(y, splat(__builtin_inff()), high);
}

// 1 + e^-x with x below -87 taken as -87 (a sigmoid of 1.6e-38); what sigmoid and SiLU share.
inline __m256 one_plus_exp_minus(__m256 x) {
  const __m256 m = _mm256_xor_ps(x, splat(-0.0f));
  const __m256 clamped = _mm256_max_ps(splat(exp_lowest), _mm256_min_ps(splat(87.0f), m));
  return add(exp_inner(clamped), splat(1.0f));
}
inline __m256 sigmoid(__m256 x) { return div(splat(1.0f), one_plus_exp_minus(x)); }
inline __m256 silu(__m256 x) { return div(x, one_plus_exp_minus(x)); }

// Nearest-even BF16 value, kept as fp32. NaN stays NaN.
inline __m256i bf16_bits32(__m256 v) {
  const __m256i bits = _mm256_castps_si256(v);
  const __m256i lsb = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(lsb, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(rounded, quiet, nan);
}
inline __m256 round_bf16(__m256 v) {
  return _mm256_castsi256_ps(_mm256_and_si256(bf16_bits32(v), _mm256_set1_epi32(-65536)));
}
// As round_bf16 for numbers and for the NaNs that arithmetic makes; a NaN with all payload bits set
// would be lost. Three operations cheaper, for activations.
inline __m256 round_bf16_activation(__m256 v) {
  const __m256i bits = _mm256_castps_si256(v);
  const __m256i lsb = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(lsb, _mm256_set1_epi32(0x7fff)));
  return _mm256_castsi256_ps(_mm256_and_si256(up, _mm256_set1_epi32(-65536)));
}
inline __m128i to_bf16(__m256 v) {
  const __m256i top = _mm256_srli_epi32(bf16_bits32(v), 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
}
inline __m256 from_bf16(__m128i v) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}
inline __m256 load_bf16(const uint16_t* p) {
  return from_bf16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline void store_bf16(uint16_t* p, __m256 v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), to_bf16(v));
}

// Eight E4M3FN codes (low half of v): half precision has the same subnormals 2^8 lower.
inline __m256 from_e4m3(__m128i v) {
  const __m128i wide = _mm_cvtepu8_epi16(v);
  const __m128i magnitude = _mm_and_si128(wide, _mm_set1_epi16(0x7f));
  const __m128i nan = _mm_cmpeq_epi16(magnitude, _mm_set1_epi16(0x7f));
  __m128i half = _mm_or_si128(_mm_slli_epi16(magnitude, 7),
                              _mm_slli_epi16(_mm_and_si128(wide, _mm_set1_epi16(0x80)), 8));
  half = _mm_or_si128(half, _mm_and_si128(nan, _mm_set1_epi16(0x7c00)));
  return mul(_mm256_cvtph_ps(half), splat(256.0f));
}
inline __m256 load_e4m3(const uint8_t* p) {
  return from_e4m3(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}

// Eight codes in the low half, nearest even, saturating.
inline __m128i to_e4m3(__m256 v) {
  const __m256i sign = _mm256_and_si256(_mm256_srli_epi32(_mm256_castps_si256(v), 24),
                                        _mm256_set1_epi32(0x80));
  const __m256 a = _mm256_min_ps(splat(448.0f), abs(v));
  const __m256i bits = _mm256_castps_si256(a);
  const __m256i lsb = _mm256_and_si256(_mm256_srli_epi32(bits, 20), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(lsb, _mm256_set1_epi32(0x7ffff)));
  const __m256i normal =
      _mm256_sub_epi32(_mm256_srli_epi32(up, 20), _mm256_set1_epi32((127 - 7) << 3));
  // Subnormals have a spacing of 2^-9, which is the last place of 2^14: the addition rounds.
  const __m256 magic = splat(16384.0f);
  const __m256i sub_bits = _mm256_sub_epi32(_mm256_castps_si256(add(a, magic)),
                                            _mm256_castps_si256(magic));
  const __m256i small = _mm256_castps_si256(_mm256_cmp_ps(a, splat(0.015625f), _CMP_LT_OQ));
  __m256i code = _mm256_or_si256(_mm256_blendv_epi8(normal, sub_bits, small), sign);
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  code = _mm256_blendv_epi8(code, _mm256_set1_epi32(0x7f), nan);
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(code),
                                         _mm256_extracti128_si256(code, 1));
  return _mm_packus_epi16(words, words);
}
inline void store_e4m3(uint8_t* p, __m256 v) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), to_e4m3(v));
}

// Rows to columns of an 8 x 8 block held in registers.
inline void transpose8(__m256 (&r)[8]) {
  const __m256 a0 = _mm256_unpacklo_ps(r[0], r[1]), a1 = _mm256_unpackhi_ps(r[0], r[1]);
  const __m256 a2 = _mm256_unpacklo_ps(r[2], r[3]), a3 = _mm256_unpackhi_ps(r[2], r[3]);
  const __m256 a4 = _mm256_unpacklo_ps(r[4], r[5]), a5 = _mm256_unpackhi_ps(r[4], r[5]);
  const __m256 a6 = _mm256_unpacklo_ps(r[6], r[7]), a7 = _mm256_unpackhi_ps(r[6], r[7]);
  const __m256 b0 = _mm256_shuffle_ps(a0, a2, 0x44), b1 = _mm256_shuffle_ps(a0, a2, 0xee);
  const __m256 b2 = _mm256_shuffle_ps(a1, a3, 0x44), b3 = _mm256_shuffle_ps(a1, a3, 0xee);
  const __m256 b4 = _mm256_shuffle_ps(a4, a6, 0x44), b5 = _mm256_shuffle_ps(a4, a6, 0xee);
  const __m256 b6 = _mm256_shuffle_ps(a5, a7, 0x44), b7 = _mm256_shuffle_ps(a5, a7, 0xee);
  r[0] = _mm256_permute2f128_ps(b0, b4, 0x20);
  r[1] = _mm256_permute2f128_ps(b1, b5, 0x20);
  r[2] = _mm256_permute2f128_ps(b2, b6, 0x20);
  r[3] = _mm256_permute2f128_ps(b3, b7, 0x20);
  r[4] = _mm256_permute2f128_ps(b0, b4, 0x31);
  r[5] = _mm256_permute2f128_ps(b1, b5, 0x31);
  r[6] = _mm256_permute2f128_ps(b2, b6, 0x31);
  r[7] = _mm256_permute2f128_ps(b3, b7, 0x31);
}

}  // namespace hitproof::kernels::simd
