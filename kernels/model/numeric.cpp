#include "kernels/model/numeric.h"

#include <array>
#include <bit>
#include <cmath>

#include "kernels/model/simd.h"

namespace hitproof::kernels {
namespace {

constexpr std::array<uint32_t, 256> make_e4m3_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t code = 0; code < 256; ++code) {
    const uint32_t sign = (code & 0x80u) << 24;
    const uint32_t exponent = (code >> 3) & 15u;
    uint32_t mantissa = code & 7u;
    uint32_t bits = 0;
    if ((code & 0x7fu) == 0x7fu) {
      bits = 0x7fc00000u;
    } else if (exponent != 0) {
      bits = ((exponent + 120u) << 23) | (mantissa << 20);
    } else if (mantissa != 0) {
      uint32_t e = 121;  // 2^-6
      while ((mantissa & 8u) == 0) {
        mantissa <<= 1;
        --e;
      }
      bits = (e << 23) | ((mantissa & 7u) << 20);
    }
    table[code] = sign | bits;
  }
  return table;
}
constexpr std::array<uint32_t, 256> e4m3_table = make_e4m3_table();

// Runs an 8-lane function over an array; the tail goes through the same lanes.
template <class F>
void for_lanes(const float* in, float* out, size_t n, F f) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) simd::store(out + i, f(simd::load(in + i)));
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    simd::store_head(out + i, f(simd::load_head(in + i, rest)), rest);
  }
}

}  // namespace

float bf16_to_float(uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t float_to_bf16(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

void bf16_to_float(const uint16_t* in, float* out, size_t n) noexcept {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) simd::store(out + i, simd::load_bf16(in + i));
  for (; i < n; ++i) out[i] = bf16_to_float(in[i]);
}

void float_to_bf16(const float* in, uint16_t* out, size_t n) noexcept {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) simd::store_bf16(out + i, simd::load(in + i));
  for (; i < n; ++i) out[i] = float_to_bf16(in[i]);
}

void round_to_bf16(const float* in, float* out, size_t n) noexcept {
  for_lanes(in, out, n, [](__m256 v) { return simd::round_bf16(v); });
}

float e4m3_to_float(uint8_t code) noexcept { return std::bit_cast<float>(e4m3_table[code]); }

uint8_t float_to_e4m3(float value) noexcept {
  return static_cast<uint8_t>(_mm_cvtsi128_si32(simd::to_e4m3(simd::splat(value))));
}

void e4m3_to_float(const uint8_t* in, float* out, size_t n) noexcept {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) simd::store(out + i, simd::load_e4m3(in + i));
  for (; i < n; ++i) out[i] = e4m3_to_float(in[i]);
}

void float_to_e4m3(const float* in, uint8_t* out, size_t n) noexcept {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) simd::store_e4m3(out + i, simd::load(in + i));
  for (; i < n; ++i) out[i] = float_to_e4m3(in[i]);
}

void vector_exp(const float* in, float* out, size_t n) noexcept {
  for_lanes(in, out, n, [](__m256 v) { return simd::exp(v); });
}

void vector_sigmoid(const float* in, float* out, size_t n) noexcept {
  for_lanes(in, out, n, [](__m256 v) { return simd::sigmoid(v); });
}

void vector_silu(const float* in, float* out, size_t n) noexcept {
  for_lanes(in, out, n, [](__m256 v) { return simd::silu(v); });
}

void hadamard_rows(float* x, int64_t stride, int rows, int dim) noexcept {
  const __m256 scale = simd::splat(1.0f / std::sqrt(static_cast<float>(dim)));
  const __m256 sign1 = _mm256_setr_ps(0, -0.0f, 0, -0.0f, 0, -0.0f, 0, -0.0f);
  const __m256 sign2 = _mm256_setr_ps(0, 0, -0.0f, -0.0f, 0, 0, -0.0f, -0.0f);
  const __m256 sign4 = _mm256_setr_ps(0, 0, 0, 0, -0.0f, -0.0f, -0.0f, -0.0f);
  for (int r = 0; r < rows; ++r) {
    float* row = x + r * stride;
    // Lane i becomes partner + (+-)self: a + b in the lower half of a butterfly, a - b in the upper.
    for (int i = 0; i < dim; i += 8) {
      __m256 v = simd::load(row + i);
      v = simd::add(_mm256_permute_ps(v, 0xb1), _mm256_xor_ps(v, sign1));
      v = simd::add(_mm256_permute_ps(v, 0x4e), _mm256_xor_ps(v, sign2));
      v = simd::add(_mm256_permute2f128_ps(v, v, 1), _mm256_xor_ps(v, sign4));
      simd::store(row + i, v);
    }
    for (int step = 8; step < dim; step *= 2) {
      for (int base = 0; base < dim; base += 2 * step) {
        for (int i = base; i < base + step; i += 8) {
          const __m256 a = simd::load(row + i);
          const __m256 b = simd::load(row + i + step);
          simd::store(row + i, simd::add(a, b));
          simd::store(row + i + step, simd::sub(a, b));
        }
      }
    }
    for (int i = 0; i < dim; i += 8) simd::store(row + i, simd::mul(simd::load(row + i), scale));
  }
}

}  // namespace hitproof::kernels
