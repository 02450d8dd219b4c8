#include <algorithm>
#include <limits>

#include "kernels/model/mla.h"
#include "kernels/model/simd.h"

namespace hitproof::kernels {
namespace {

constexpr int ways = 4;  // tokens j mod 4 are summed apart, then together: hides the FMA's latency

// Sums of eight vectors, one a lane.
__m256 sum_each(const __m256 (&p)[8]) {
  const __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(p[0], p[1]), _mm256_hadd_ps(p[2], p[3]));
  const __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(p[4], p[5]), _mm256_hadd_ps(p[6], p[7]));
  return simd::add(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}

struct Selection {
  const float* latents;
  const int32_t* ids;  // nullptr: the tokens in order
  int latent;
  const float* row(int s) const {
    const int64_t token = ids == nullptr ? s : ids[s];
    return latents + token * latent;
  }
};

// scores[0..count) of tokens [begin, begin + count), -inf up to the next multiple of 8; their maximum.
float score_block(const Selection& sel, const float* q, float scale, int begin, int count,
                  float* scores) {
  const __m256 low = simd::splat(-std::numeric_limits<float>::infinity());
  __m256 top = low;
  for (int j = 0; j < count; j += 8) {
    const int n = std::min(8, count - j);
    const float* rows[8];
    for (int i = 0; i < 8; ++i) rows[i] = sel.row(begin + j + std::min(i, n - 1));
    __m256 p[8];
    const __m256 q0 = simd::load(q);
    simd::unroll<8>([&](auto i) { p[i] = simd::mul(q0, simd::load(rows[i])); });
    for (int d = 8; d < sel.latent; d += 8) {
      const __m256 qd = simd::load(q + d);
      simd::unroll<8>([&](auto i) { p[i] = simd::fma(qd, simd::load(rows[i] + d), p[i]); });
    }
    __m256 s = simd::mul(sum_each(p), simd::splat(scale));
    if (n < 8) s = _mm256_blendv_ps(low, s, _mm256_castsi256_ps(simd::head_mask(n)));
    simd::store(scores + j, s);
    top = _mm256_max_ps(top, s);
  }
  return simd::max_lanes(top);
}

// out[0..8*NV) = out * keep + sum_j p_j c_j over the block.
template <int NV>
void add_values(const Selection& sel, const float* p, int begin, int count, int channel,
                __m256 keep, float* out) {
  __m256 acc[ways][NV];
  simd::unroll<ways>([&](auto w) {
    simd::unroll<NV>([&](auto v) { acc[w][v] = _mm256_setzero_ps(); });
  });
  int j = 0;
  for (; j + ways <= count; j += ways) {
    simd::unroll<ways>([&](auto w) {
      const float* c = sel.row(begin + j + w) + channel;
      const __m256 weight = simd::bcast(p + j + w);
      simd::unroll<NV>(
          [&](auto v) { acc[w][v] = simd::fma(weight, simd::load(c + v * 8), acc[w][v]); });
    });
  }
  for (; j < count; ++j) {
    const float* c = sel.row(begin + j) + channel;
    const __m256 weight = simd::bcast(p + j);
    simd::unroll<NV>(
        [&](auto v) { acc[0][v] = simd::fma(weight, simd::load(c + v * 8), acc[0][v]); });
  }
  simd::unroll<NV>([&](auto v) {
    const __m256 sum = simd::add(simd::add(acc[0][v], acc[1][v]), simd::add(acc[2][v], acc[3][v]));
    simd::store(out + v * 8, simd::fma(simd::load(out + v * 8), keep, sum));
  });
}

void attend_one(const Selection& sel, const float* q, float scale, int count, int block, float* out,
                float* workspace) {
  float* scores = workspace;
  float* sum = workspace + (block + 7) / 8 * 8;  // not `out`, which may be q
  std::fill_n(sum, sel.latent, 0.0f);
  float top = -std::numeric_limits<float>::infinity();
  float total = 0.0f;
  for (int begin = 0; begin < count; begin += block) {
    const int n = std::min(block, count - begin);
    const float new_top = std::max(top, score_block(sel, q, scale, begin, n, scores));
    const __m256 shift = simd::splat(new_top);
    __m256 part = _mm256_setzero_ps();
    for (int j = 0; j < n; j += 8) {
      const __m256 e = simd::exp(simd::sub(simd::load(scores + j), shift));
      simd::store(scores + j, e);
      part = simd::add(part, e);
    }
    const __m256 keep = simd::exp(simd::splat(top - new_top));
    total = total * _mm256_cvtss_f32(keep) + simd::sum_lanes(part);
    int channel = 0;
    for (; channel + 16 <= sel.latent; channel += 16) {
      add_values<2>(sel, scores, begin, n, channel, keep, sum + channel);
    }
    if (channel < sel.latent) add_values<1>(sel, scores, begin, n, channel, keep, sum + channel);
    top = new_top;
  }
  const __m256 inverse = simd::splat(count > 0 ? 1.0f / total : 0.0f);
  for (int d = 0; d < sel.latent; d += 8) {
    simd::store(out + d, simd::mul(simd::load(sum + d), inverse));
  }
}

}  // namespace

size_t mla_workspace_floats(int latent, int block) noexcept {
  return static_cast<size_t>((block + 7) / 8 * 8 + latent);
}

void mla_attend(const float* q, int64_t q_stride, int rows, int heads, int latent, float scale,
                const float* latents, const int32_t* ids, int64_t ids_stride,
                const int32_t* counts, int block, float* out, int64_t out_stride,
                float* workspace) noexcept {
  for (int r = 0; r < rows; ++r) {
    const Selection sel{latents, ids == nullptr ? nullptr : ids + r * ids_stride, latent};
    for (int h = 0; h < heads; ++h) {
      attend_one(sel, q + r * q_stride + int64_t{h} * latent, scale, counts[r], block,
                 out + r * out_stride + int64_t{h} * latent, workspace);
    }
  }
}

}  // namespace hitproof::kernels
