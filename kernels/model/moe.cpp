#include "kernels/model/moe.h"

#include <algorithm>

#include "kernels/model/numeric.h"
#include "kernels/model/simd.h"
#include "kernels/model/small_gemm.h"

namespace hitproof::kernels {
namespace {

constexpr int row_group = 48;  // rows of one expert in flight: their activations stay in the cache
constexpr int max_experts = 512;

// h[r][w] = silu(min(gate, limit)) * clamp(up, +-limit). gu: rows of 2*width, gate and up in
// alternating groups of 8.
void swiglu(const ExpertShape& shape, const float* gu, int rows, float* h) {
  const __m256 limit = simd::splat(shape.limit), low = simd::splat(-shape.limit);
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < shape.width; i += 8) {
      const float* x = gu + int64_t{r} * 2 * shape.width + 2 * i;
      const __m256 gate = _mm256_min_ps(limit, simd::load(x));
      const __m256 up = _mm256_max_ps(low, _mm256_min_ps(limit, simd::load(x + 8)));
      simd::store(h + int64_t{r} * shape.width + i, simd::mul(simd::silu(gate), up));
    }
  }
}

struct Scratch {
  float* gate_up;
  float* h;
  float* y;
};

Scratch carve(const ExpertShape& shape, float* workspace) {
  Scratch s;
  s.gate_up = workspace;
  s.h = s.gate_up + int64_t{row_group} * 2 * shape.width;
  s.y = s.h + int64_t{row_group} * shape.width;
  return s;
}

// Up to row_group rows to s.h.
void activate(const ExpertShape& shape, const float* x, int64_t x_stride, const int32_t* index,
              int rows, const float* packed, int block, const Scratch& s) {
  small_gemm_gather(x, x_stride, index, rows, shape.hidden, packed, 2 * shape.width, block, false,
                    s.gate_up, int64_t{2} * shape.width);
  swiglu(shape, s.gate_up, rows, s.h);
}

const float* down_of(const ExpertShape& shape, const float* packed) {
  return packed + gemm_packed_floats(2 * shape.width, shape.hidden);
}

}  // namespace

void moe_route(const float* logits, int64_t logits_stride, const float* bias, int rows, int experts,
               int topk, float scaling, int32_t* ids, float* weights) noexcept {
  float score[max_experts];
  float biased[max_experts];
  bool chosen[max_experts];
  for (int r = 0; r < rows; ++r) {
    vector_sigmoid(logits + r * logits_stride, score, experts);
    for (int e = 0; e < experts; ++e) {
      biased[e] = score[e] + bias[e];
      chosen[e] = false;
    }
    for (int k = 0; k < topk; ++k) {
      int best = -1;
      for (int e = 0; e < experts; ++e) {
        if (!chosen[e] && (best < 0 || biased[e] > biased[best])) best = e;
      }
      chosen[best] = true;
    }
    int32_t* row_ids = ids + int64_t{r} * topk;
    float* row_weights = weights + int64_t{r} * topk;
    int n = 0;
    float sum = 0.0f;
    for (int e = 0; e < experts; ++e) {
      if (!chosen[e]) continue;
      row_ids[n] = e;
      row_weights[n++] = score[e];
      sum += score[e];
    }
    for (int k = 0; k < topk; ++k) row_weights[k] = row_weights[k] / (sum + 1e-20f) * scaling;
  }
}

size_t expert_packed_floats(const ExpertShape& shape) noexcept {
  return gemm_packed_floats(2 * shape.width, shape.hidden) +
         gemm_packed_floats(shape.hidden, shape.width);
}

void expert_pack(const ExpertShape& shape, const float* gate, const float* up, int64_t ld_in,
                 const float* down, int64_t ld_down, float* packed) noexcept {
  for (int i = 0; i < shape.width; i += 8) {
    gemm_pack_rows(gate + i * ld_in, ld_in, 2 * shape.width, shape.hidden, 2 * i, 8, packed);
    gemm_pack_rows(up + i * ld_in, ld_in, 2 * shape.width, shape.hidden, 2 * i + 8, 8, packed);
  }
  gemm_pack(down, ld_down, shape.hidden, shape.width,
            packed + gemm_packed_floats(2 * shape.width, shape.hidden));
}

size_t expert_workspace_floats(const ExpertShape& shape) noexcept {
  return size_t{row_group} * (3 * shape.width + shape.hidden);
}

size_t moe_workspace_ints(int rows, int experts, int topk) noexcept {
  return static_cast<size_t>(experts) + 1 + size_t{2} * rows * topk;
}

void expert_mlp(const ExpertShape& shape, const float* x, int64_t x_stride, int rows,
                const float* packed, int block, bool accumulate, float* y, int64_t y_stride,
                float* workspace) noexcept {
  const Scratch s = carve(shape, workspace);
  for (int begin = 0; begin < rows; begin += row_group) {
    const int count = std::min(row_group, rows - begin);
    activate(shape, x + begin * x_stride, x_stride, nullptr, count, packed, block, s);
    small_gemm(s.h, shape.width, count, shape.width, down_of(shape, packed), shape.hidden, block,
               accumulate, y + begin * y_stride, y_stride);
  }
}

void moe_grouped(const ExpertShape& shape, const float* x, int64_t x_stride, int rows,
                 const float* packed, int experts, const int32_t* ids, const float* weights,
                 int topk, int block, float* y, int64_t y_stride, float* workspace,
                 int32_t* int_workspace) noexcept {
  const Scratch s = carve(shape, workspace);
  const size_t each = expert_packed_floats(shape);
  const int total = rows * topk;
  int32_t* end_of = int_workspace;  // [experts + 1]: after the sort, end of expert e's rows
  int32_t* row_of = end_of + experts + 1;
  int32_t* pick_of = row_of + total;
  std::fill_n(end_of, experts + 1, 0);
  for (int i = 0; i < total; ++i) ++end_of[ids[i] + 1];
  for (int e = 0; e < experts; ++e) end_of[e + 1] += end_of[e];
  for (int i = 0; i < total; ++i) {
    const int32_t at = end_of[ids[i]]++;
    row_of[at] = i / topk;
    pick_of[at] = i;
  }
  for (int r = 0; r < rows; ++r) std::fill_n(y + r * y_stride, shape.hidden, 0.0f);
  int begin = 0;
  for (int e = 0; e < experts; ++e) {
    const float* expert = packed + e * each;
    for (; begin < end_of[e]; begin += row_group) {
      const int count = std::min(row_group, end_of[e] - begin);
      activate(shape, x, x_stride, row_of + begin, count, expert, block, s);
      small_gemm(s.h, shape.width, count, shape.width, down_of(shape, expert), shape.hidden, block,
                 false, s.y, shape.hidden);
      for (int i = 0; i < count; ++i) {
        float* out = y + row_of[begin + i] * y_stride;
        const float* add = s.y + int64_t{i} * shape.hidden;
        const __m256 w = simd::bcast(weights + pick_of[begin + i]);
        for (int d = 0; d < shape.hidden; d += 8) {
          simd::store(out + d, simd::fma(w, simd::load(add + d), simd::load(out + d)));
        }
      }
    }
    begin = end_of[e];
  }
}

}  // namespace hitproof::kernels
