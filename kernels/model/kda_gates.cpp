#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/model/kda.h"
#include "kernels/model/numeric.h"
#include "kernels/model/simd.h"

namespace hitproof::kernels {
namespace {

constexpr int row_tile = 16;  // raw rows of a tile stay in the first-level cache

}  // namespace

void kda_conv_silu(const KdaShape& shape, const float* raw, int64_t raw_stride, int rows,
                   const float* weight, const uint16_t* history, float* out,
                   int64_t out_stride) noexcept {
  const int channels = kda_channels(shape);
  const uint16_t* last3 =
      history == nullptr ? nullptr : history + int64_t{shape.history_rows - 3} * channels;
  for (int tile = 0; tile < rows; tile += row_tile) {
    const int end = std::min(tile + row_tile, rows);
    for (int c = 0; c < channels; c += 8) {
      // The row that lies `back` rows before the tile: of this call, of the history, or none.
      const auto earlier = [&](int back) {
        const int row = tile - back;
        if (row >= 0) return simd::round_bf16_activation(simd::load(raw + row * raw_stride + c));
        if (last3 == nullptr) return _mm256_setzero_ps();
        return simd::load_bf16(last3 + int64_t{3 + row} * channels + c);
      };
      __m256 x3 = earlier(3), x2 = earlier(2), x1 = earlier(1);
      const __m256 w0 = simd::load(weight + c);
      const __m256 w1 = simd::load(weight + channels + c);
      const __m256 w2 = simd::load(weight + 2 * channels + c);
      const __m256 w3 = simd::load(weight + 3 * channels + c);
      for (int t = tile; t < end; ++t) {
        const __m256 x0 = simd::round_bf16_activation(simd::load(raw + t * raw_stride + c));
        __m256 sum = simd::mul(w0, x3);
        sum = simd::fma(w1, x2, sum);
        sum = simd::fma(w2, x1, sum);
        sum = simd::fma(w3, x0, sum);
        simd::store(out + t * out_stride + c, simd::silu(sum));
        x3 = x2;
        x2 = x1;
        x1 = x0;
      }
    }
  }
}

void kda_conv_state(const KdaShape& shape, const float* raw, int64_t raw_stride, int rows,
                    const uint16_t* history, uint16_t* out) noexcept {
  const int channels = kda_channels(shape);
  const int kept = shape.history_rows;
  // Row i of the new state is row i + rows of (history | raw). Ascending order never overwrites a
  // history row that is still needed, so out may be history.
  for (int i = 0; i < kept; ++i) {
    uint16_t* dst = out + int64_t{i} * channels;
    const int source = i + rows;
    if (source >= kept) {
      float_to_bf16(raw + int64_t{source - kept} * raw_stride, dst, channels);
    } else if (history == nullptr) {
      std::memset(dst, 0, size_t{2} * channels);
    } else {
      std::memmove(dst, history + int64_t{source} * channels, size_t{2} * channels);
    }
  }
}

void kda_gates(const KdaShape& shape, const float* f, int64_t f_stride, const float* b,
               int64_t b_stride, int rows, const float* a_exp, const float* dt_bias, float* g,
               int64_t g_stride, float* beta, int64_t beta_stride) noexcept {
  const __m256 bound = simd::splat(shape.lower_bound);
  for (int t = 0; t < rows; ++t) {
    for (int h = 0; h < shape.heads; ++h) {
      const __m256 rate = simd::splat(a_exp[h]);
      const float* fr = f + t * f_stride + int64_t{h} * shape.dim;
      const float* bias = dt_bias + int64_t{h} * shape.dim;
      float* gr = g + t * g_stride + int64_t{h} * shape.dim;
      for (int i = 0; i < shape.dim; i += 8) {
        const __m256 x = simd::mul(rate, simd::add(simd::load(fr + i), simd::load(bias + i)));
        simd::store(gr + i, simd::div(bound, simd::one_plus_exp_minus(x)));
      }
    }
    vector_sigmoid(b + t * b_stride, beta + t * beta_stride, shape.heads);
  }
}

void kda_output_gate(const KdaShape& shape, const float* o, int64_t o_stride, const float* gout,
                     int64_t gout_stride, int rows, const float* o_norm, float eps, int norm_block,
                     float* y, int64_t y_stride) noexcept {
  const int dim = shape.dim;
  for (int t = 0; t < rows; ++t) {
    for (int h = 0; h < shape.heads; ++h) {
      const int64_t offset = int64_t{h} * dim;
      const float* x = o + t * o_stride + offset;
      float squares = 0.0f;
      for (int begin = 0; begin < dim; begin += norm_block) {
        const int end = std::min(begin + norm_block, dim);
        __m256 acc = _mm256_setzero_ps();
        for (int i = begin; i < end; i += 8) {
          const __m256 v = simd::load(x + i);
          acc = simd::fma(v, v, acc);
        }
        squares += simd::sum_lanes(acc);
      }
      const float inv = 1.0f / std::sqrt(squares / static_cast<float>(dim) + eps);
      const __m256 scale = simd::splat(inv);
      const float* gate = gout + t * gout_stride + offset;
      float* dst = y + t * y_stride + offset;
      for (int i = 0; i < dim; i += 8) {
        const __m256 v = simd::mul(simd::mul(simd::load(x + i), scale), simd::load(o_norm + i));
        simd::store(dst + i, simd::div(v, simd::one_plus_exp_minus(simd::load(gate + i))));
      }
    }
  }
}

}  // namespace hitproof::kernels
