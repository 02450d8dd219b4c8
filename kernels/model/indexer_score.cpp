#include <algorithm>

#include "kernels/model/indexer.h"
#include "kernels/model/simd.h"

namespace hitproof::kernels {
namespace {

constexpr int row_block = 6;

template <int R>
struct Products {
  __m256 v[R][2];
};

// Products of R queries with 16 pools over channels [begin, end).
template <int R>
[[gnu::always_inline]] inline Products<R> products(const float* q, int64_t q_stride,
                                                   const float* keys, int begin, int end) {
  Products<R> acc;
  simd::unroll<R>([&](auto r) { acc.v[r][0] = acc.v[r][1] = _mm256_setzero_ps(); });
  for (int i = begin; i < end; ++i) {
    const __m256 k0 = simd::load(keys + int64_t{i} * 16);
    const __m256 k1 = simd::load(keys + int64_t{i} * 16 + 8);
    simd::unroll<R>([&](auto r) {
      const __m256 x = simd::bcast(q + r * q_stride + i);
      acc.v[r][0] = simd::fma(x, k0, acc.v[r][0]);
      acc.v[r][1] = simd::fma(x, k1, acc.v[r][1]);
    });
  }
  return acc;
}

template <int R>
void score_panel(const IndexerShape& shape, const float* codes, int64_t codes_stride,
                 const float* folded, int64_t folded_stride, const float* keys,
                 const float* scales, int block, float* scores, int64_t score_stride) {
  const int dim = shape.dim;
  for (int h = 0; h < shape.heads; ++h) {
    const float* q = codes + int64_t{h} * dim;
    Products<R> sum = products<R>(q, codes_stride, keys, 0, std::min(block, dim));
    for (int begin = block; begin < dim; begin += block) {
      const Products<R> part =
          products<R>(q, codes_stride, keys, begin, std::min(begin + block, dim));
      simd::unroll<R>([&](auto r) {
        sum.v[r][0] = simd::add(sum.v[r][0], part.v[r][0]);
        sum.v[r][1] = simd::add(sum.v[r][1], part.v[r][1]);
      });
    }
    const __m256 zero = _mm256_setzero_ps();
    simd::unroll<R>([&](auto r) {
      const __m256 w = simd::bcast(folded + r * folded_stride + h);
      float* out = scores + r * score_stride;
      const __m256 s0 = h == 0 ? zero : simd::load(out);
      const __m256 s1 = h == 0 ? zero : simd::load(out + 8);
      simd::store(out, simd::fma(w, _mm256_max_ps(sum.v[r][0], zero), s0));
      simd::store(out + 8, simd::fma(w, _mm256_max_ps(sum.v[r][1], zero), s1));
    });
  }
  const __m256 scale0 = simd::load(scales), scale1 = simd::load(scales + 8);
  simd::unroll<R>([&](auto r) {
    float* out = scores + r * score_stride;
    simd::store(out, simd::mul(simd::load(out), scale0));
    simd::store(out + 8, simd::mul(simd::load(out + 8), scale1));
  });
}

template <int R>
void score_rows(const IndexerShape& shape, const float* codes, int64_t codes_stride,
                const float* folded, int64_t folded_stride, const float* packed, int packed_pools,
                int pools, int block, float* scores, int64_t score_stride) {
  const float* scales = packed + int64_t{(packed_pools + 15) / 16} * 16 * shape.dim;
  for (int p = 0; p < pools; p += 16) {
    score_panel<R>(shape, codes, codes_stride, folded, folded_stride,
                   packed + int64_t{p} * shape.dim, scales + p, block, scores + p, score_stride);
  }
}

}  // namespace

void indexer_scores(const IndexerShape& shape, const float* codes, int64_t codes_stride,
                    const float* folded, int64_t folded_stride, int rows, const float* packed,
                    int packed_pools, int pools, int block, float* scores,
                    int64_t score_stride) noexcept {
  int r = 0;
  for (; r + row_block <= rows; r += row_block) {
    score_rows<row_block>(shape, codes + r * codes_stride, codes_stride, folded + r * folded_stride,
                          folded_stride, packed, packed_pools, pools, block,
                          scores + r * score_stride, score_stride);
  }
  for (; r + 2 <= rows; r += 2) {
    score_rows<2>(shape, codes + r * codes_stride, codes_stride, folded + r * folded_stride,
                  folded_stride, packed, packed_pools, pools, block, scores + r * score_stride,
                  score_stride);
  }
  if (r < rows) {
    score_rows<1>(shape, codes + r * codes_stride, codes_stride, folded + r * folded_stride,
                  folded_stride, packed, packed_pools, pools, block, scores + r * score_stride,
                  score_stride);
  }
}

}  // namespace hitproof::kernels
