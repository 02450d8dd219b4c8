#include "kernels/model/norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/model/simd.h"

namespace hitproof::kernels {
namespace {

// Sum of f(x) over a row: eight lanes inside a block, lanes folded at its end, blocks in order.
template <class F>
float blocked_sum(const float* x, int dim, int block, F f) {
  float total = 0.0f;
  for (int begin = 0; begin < dim; begin += block) {
    const int end = std::min(begin + block, dim);
    __m256 acc = _mm256_setzero_ps();
    int i = begin;
    for (; i + 8 <= end; i += 8) acc = f(acc, simd::load(x + i), 8);
    if (i < end) acc = f(acc, simd::load_head(x + i, end - i), end - i);
    const float part = simd::sum_lanes(acc);
    total = begin == 0 ? part : total + part;
  }
  return total;
}

float sum_of_squares(const float* x, int dim, int block) {
  return blocked_sum(x, dim, block, [](__m256 acc, __m256 v, int) { return simd::fma(v, v, acc); });
}

void scale_row(const float* x, float factor, const float* weight, int dim, float* y) {
  const __m256 f = simd::splat(factor);
  int i = 0;
  for (; i + 8 <= dim; i += 8) {
    __m256 v = simd::mul(simd::load(x + i), f);
    if (weight != nullptr) v = simd::mul(v, simd::load(weight + i));
    simd::store(y + i, v);
  }
  if (i < dim) {
    __m256 v = simd::mul(simd::load_head(x + i, dim - i), f);
    if (weight != nullptr) v = simd::mul(v, simd::load_head(weight + i, dim - i));
    simd::store_head(y + i, v, dim - i);
  }
}

void add_row(const float* a, const float* b, int dim, float* y) {
  int i = 0;
  for (; i + 8 <= dim; i += 8) simd::store(y + i, simd::add(simd::load(a + i), simd::load(b + i)));
  for (; i < dim; ++i) y[i] = a[i] + b[i];
}

float inverse_root(float square_sum, int dim, float eps) {
  return 1.0f / std::sqrt(square_sum / static_cast<float>(dim) + eps);
}

}  // namespace

void rms_norm(const float* x, int64_t x_stride, const float* weight, float eps, int rows, int dim,
              int norm_block, float* y, int64_t y_stride) noexcept {
  for (int r = 0; r < rows; ++r) {
    const float* row = x + r * x_stride;
    const float inv = inverse_root(sum_of_squares(row, dim, norm_block), dim, eps);
    scale_row(row, inv, weight, dim, y + r * y_stride);
  }
}

void add_rms_norm(const float* x, int64_t x_stride, const float* addend, int64_t add_stride,
                  const float* weight, float eps, int rows, int dim, int norm_block, float* sum,
                  int64_t sum_stride, float* y, int64_t y_stride) noexcept {
  for (int r = 0; r < rows; ++r) {
    float* out = sum + r * sum_stride;
    add_row(x + r * x_stride, addend + r * add_stride, dim, out);
    rms_norm(out, sum_stride, weight, eps, 1, dim, norm_block, y + r * y_stride, y_stride);
  }
}

void layer_norm(const float* x, int64_t x_stride, const float* weight, const float* bias, float eps,
                int rows, int dim, int norm_block, float* y, int64_t y_stride) noexcept {
  for (int r = 0; r < rows; ++r) {
    const float* row = x + r * x_stride;
    float* out = y + r * y_stride;
    const float mean =
        blocked_sum(row, dim, norm_block,
                    [](__m256 acc, __m256 v, int) { return simd::add(acc, v); }) /
        static_cast<float>(dim);
    const __m256 m = simd::splat(mean);
    const float squares = blocked_sum(row, dim, norm_block, [m](__m256 acc, __m256 v, int n) {
      __m256 d = simd::sub(v, m);
      // Lanes past the end hold zero, not the mean.
      if (n < 8) d = _mm256_and_ps(d, _mm256_castsi256_ps(simd::head_mask(n)));
      return simd::fma(d, d, acc);
    });
    const float inv = inverse_root(squares, dim, eps);
    for (int i = 0; i < dim; i += 8) {
      const int n = std::min(8, dim - i);
      const __m256 d = simd::mul(simd::sub(simd::load_head(row + i, n), m), simd::splat(inv));
      const __m256 v = simd::fma(d, simd::load_head(weight + i, n), simd::load_head(bias + i, n));
      simd::store_head(out + i, v, n);
    }
  }
}

void add_rows(const float* a, int64_t a_stride, const float* b, int64_t b_stride, int rows, int dim,
              float* y, int64_t y_stride) noexcept {
  for (int r = 0; r < rows; ++r) {
    add_row(a + r * a_stride, b + r * b_stride, dim, y + r * y_stride);
  }
}

}  // namespace hitproof::kernels
