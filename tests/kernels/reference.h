// What the kernel tests share: seeded data, comparison against double-precision references.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace hitproof::kernels::testing {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

inline Floats normal(size_t n, uint32_t seed, float scale = 1.0f) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> d(0.0f, scale);
  Floats v(n);
  for (float& x : v) x = d(engine);
  return v;
}

inline Floats uniform(size_t n, uint32_t seed, float low, float high) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> d(low, high);
  Floats v(n);
  for (float& x : v) x = d(engine);
  return v;
}

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
inline double silu(double x) { return x * sigmoid(x); }

// Nearest BF16 by arithmetic, not by bits.
inline float bf16(float x) {
  if (x == 0.0f || !std::isfinite(x)) return x;
  int exponent;
  std::frexp(x, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent, -125) - 8);
  return static_cast<float>(std::nearbyint(x / unit) * unit);
}

// Nearest E4M3FN value by arithmetic, saturating.
inline float e4m3(float x) {
  if (x == 0.0f || std::isnan(x)) return x;
  const double a = std::min(448.0, std::fabs(static_cast<double>(x)));
  int exponent;
  std::frexp(a, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent, -5) - 4);
  return static_cast<float>(std::copysign(std::nearbyint(a / unit) * unit, x));
}

// Largest difference over the largest magnitude of the reference.
inline double relative_error(const Floats& got, const Doubles& want) {
  EXPECT_EQ(got.size(), want.size());
  double top = 1e-30, worst = 0.0;
  for (const double w : want) top = std::max(top, std::fabs(w));
  for (size_t i = 0; i < want.size(); ++i) {
    if (!std::isfinite(got[i])) return 1e30;
    worst = std::max(worst, std::fabs(got[i] - want[i]));
  }
  return worst / top;
}

inline bool same_bits(const float* a, const float* b, size_t n) {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

}  // namespace hitproof::kernels::testing
