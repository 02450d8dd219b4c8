#include "kernels/model/small_gemm.h"

#include <algorithm>
#include <cstring>

#include "kernels/model/simd.h"

namespace hitproof::kernels {
namespace {

constexpr int panel = 16;
constexpr int row_block = 6;      // 6 x 2 accumulators, two weights, one input: 15 of 16 registers
constexpr int row_group = 48;     // rows that stay in the first-level cache while panels pass by

struct Tile {
  const float* rows[row_block];
  float* out[row_block];
};

template <int R, int NV>
struct Sums {
  __m256 v[R][NV];
};

// The partial sums of inputs [begin, end) for R rows by NV vectors, two a panel; panels are
// k * panel floats apart.
template <int R, int NV>
[[gnu::always_inline]] inline Sums<R, NV> sum_block(const Tile& t, int begin, int end,
                                                    const float* w, int k) {
  Sums<R, NV> acc;
  simd::unroll<R>([&](auto r) {
    simd::unroll<NV>([&](auto v) { acc.v[r][v] = _mm256_setzero_ps(); });
  });
  const float* rows[R];
  simd::unroll<R>([&](auto r) { rows[r] = t.rows[r]; });
  for (int i = begin; i < end; ++i) {
    __m256 b[NV];
    simd::unroll<NV>([&](auto v) {
      b[v] = simd::load(w + (int64_t{v / 2} * k + i) * panel + v % 2 * 8);
    });
    simd::unroll<R>([&](auto r) {
      const __m256 a = simd::bcast(rows[r] + i);
      simd::unroll<NV>([&](auto v) { acc.v[r][v] = simd::fma(a, b[v], acc.v[r][v]); });
    });
  }
  return acc;
}

template <int R, int NV>
void compute_tile(const Tile& t, int k, const float* w, int kblock, bool accumulate, int columns) {
  Sums<R, NV> total = sum_block<R, NV>(t, 0, std::min(kblock, k), w, k);
  for (int begin = kblock; begin < k; begin += kblock) {
    const Sums<R, NV> part = sum_block<R, NV>(t, begin, std::min(begin + kblock, k), w, k);
    simd::unroll<R>([&](auto r) {
      simd::unroll<NV>([&](auto v) { total.v[r][v] = simd::add(total.v[r][v], part.v[r][v]); });
    });
  }
  simd::unroll<R>([&](auto r) {
    simd::unroll<NV>([&](auto v) {
      float* c = t.out[r] + v * 8;
      const int n = columns - v * 8;
      __m256 sum = total.v[r][v];
      if (n <= 0) return;
      if (n >= 8) {
        simd::store(c, accumulate ? simd::add(simd::load(c), sum) : sum);
      } else {
        if (accumulate) sum = simd::add(simd::load_head(c, n), sum);
        simd::store_head(c, sum, n);
      }
    });
  });
}

template <int NV>
void compute_rows(const Tile& t, int rows, int k, const float* w, int kblock, bool accumulate,
                  int columns) {
  switch (rows) {
    case 1: return compute_tile<1, NV>(t, k, w, kblock, accumulate, columns);
    case 2: return compute_tile<2, NV>(t, k, w, kblock, accumulate, columns);
    case 3: return compute_tile<3, NV>(t, k, w, kblock, accumulate, columns);
    case 4: return compute_tile<4, NV>(t, k, w, kblock, accumulate, columns);
    case 5: return compute_tile<5, NV>(t, k, w, kblock, accumulate, columns);
    default: return compute_tile<6, NV>(t, k, w, kblock, accumulate, columns);
  }
}

// One or two rows: one panel alone would wait for its own sums, so several go side by side.
void compute_few(const Tile& t, int rows, int n, int k, const float* packed, int kblock,
                 bool accumulate) {
  Tile at = t;
  for (int col = 0; col < n;) {
    const float* w = packed + int64_t{col} * k;
    const int columns = n - col;
    int step = panel;
    if (rows == 1 && columns > 3 * panel) {
      compute_tile<1, 8>(at, k, w, kblock, accumulate, columns);
      step = 4 * panel;
    } else if (columns > 2 * panel) {
      step = 3 * panel;
      if (rows == 1) {
        compute_tile<1, 6>(at, k, w, kblock, accumulate, columns);
      } else {
        compute_tile<2, 6>(at, k, w, kblock, accumulate, columns);
      }
    } else {
      compute_rows<2>(at, rows, k, w, kblock, accumulate, columns);
    }
    col += step;
    for (int r = 0; r < rows; ++r) at.out[r] = t.out[r] + col;
  }
}

Tile make_tile(const float* a, int64_t lda, const int32_t* row_index, int first, int count,
               float* c, int64_t ldc) {
  Tile t{};
  for (int i = 0; i < count; ++i) {
    const int64_t source = row_index == nullptr ? first + i : row_index[first + i];
    t.rows[i] = a + source * lda;
    t.out[i] = c + int64_t{first + i} * ldc;
  }
  return t;
}

}  // namespace

size_t gemm_packed_floats(int n, int k) noexcept {
  return static_cast<size_t>((n + panel - 1) / panel) * panel * k;
}

void gemm_pack_rows(const float* w, int64_t ldw, int n, int k, int first, int count,
                    float* packed) noexcept {
  // The padding of the last panel is written with the matrix' last row.
  const int end = first + count == n ? (n + panel - 1) / panel * panel : first + count;
  for (int o = first; o < end; ++o) {
    float* dst = packed + int64_t{o / panel} * panel * k + o % panel;
    for (int i = 0; i < k; ++i) {
      dst[int64_t{i} * panel] = o < n ? w[int64_t{o - first} * ldw + i] : 0.0f;
    }
  }
}

void gemm_pack(const float* w, int64_t ldw, int n, int k, float* packed) noexcept {
  gemm_pack_rows(w, ldw, n, k, 0, n, packed);
}

void small_gemm_gather(const float* a, int64_t lda, const int32_t* row_index, int rows, int k,
                       const float* packed, int n, int kblock, bool accumulate, float* c,
                       int64_t ldc) noexcept {
  for (int group = 0; group < rows; group += row_group) {
    const int group_end = std::min(group + row_group, rows);
    if (group_end - group <= 2) {
      const int count = group_end - group;
      compute_few(make_tile(a, lda, row_index, group, count, c, ldc), count, n, k, packed, kblock,
                  accumulate);
      return;
    }
    for (int col = 0; col < n; col += panel) {
      const float* w = packed + int64_t{col} * k;
      const int columns = std::min(panel, n - col);
      for (int r = group; r < group_end; r += row_block) {
        const int count = std::min(row_block, group_end - r);
        const Tile t = make_tile(a, lda, row_index, r, count, c + col, ldc);
        if (columns > 8) {
          compute_rows<2>(t, count, k, w, kblock, accumulate, columns);
        } else {
          compute_rows<1>(t, count, k, w, kblock, accumulate, columns);
        }
      }
    }
  }
}

void small_gemm(const float* a, int64_t lda, int rows, int k, const float* packed, int n,
                int kblock, bool accumulate, float* c, int64_t ldc) noexcept {
  small_gemm_gather(a, lda, nullptr, rows, k, packed, n, kblock, accumulate, c, ldc);
}

void small_gemm_heads(const float* a, int64_t lda, int rows, int heads, int k, const float* packed,
                      int n, int kblock, float* c, int64_t ldc) noexcept {
  const size_t each = gemm_packed_floats(n, k);
  for (int h = 0; h < heads; ++h) {
    small_gemm(a + int64_t{h} * k, lda, rows, k, packed + h * each, n, kblock, false,
               c + int64_t{h} * n, ldc);
  }
}

}  // namespace hitproof::kernels
