#include "kernels/model/mhc.h"

#include <algorithm>
#include <cmath>

#include "kernels/model/simd.h"

namespace hitproof::kernels {
namespace {

constexpr int group = 8;  // tokens that share the lanes of a Sinkhorn pass
constexpr int mix = mhc_mix_size;

struct Rows {
  const float* x[4];
};

struct Mapped {
  __m256 v[4][3];
};

// fn x for four tokens over inputs [begin, end).
[[gnu::always_inline]] inline Mapped map_block(const Rows& rows, const float* fn, int begin,
                                               int end) {
  Mapped acc;
  simd::unroll<4>([&](auto r) {
    simd::unroll<3>([&](auto v) { acc.v[r][v] = _mm256_setzero_ps(); });
  });
  for (int i = begin; i < end; ++i) {
    __m256 w[3];
    simd::unroll<3>([&](auto v) { w[v] = simd::load(fn + int64_t{i} * mix + v * 8); });
    simd::unroll<4>([&](auto r) {
      const __m256 x = simd::bcast(rows.x[r] + i);
      simd::unroll<3>([&](auto v) { acc.v[r][v] = simd::fma(x, w[v], acc.v[r][v]); });
    });
  }
  return acc;
}

float sum_of_squares(const float* x, int n, int block) {
  float total = 0.0f;
  for (int begin = 0; begin < n; begin += block) {
    const int end = std::min(begin + block, n);
    __m256 acc = _mm256_setzero_ps();
    for (int i = begin; i < end; i += 8) {
      const __m256 v = simd::load(x + i);
      acc = simd::fma(v, v, acc);
    }
    total += simd::sum_lanes(acc);
  }
  return total;
}

// z = fn x / sqrt(mean(x^2) + eps) for four tokens, rows of z 24 floats apart.
void map_rows(const Rows& rows, const MhcShape& shape, const MhcSite& site, int block, float* z) {
  const int inner = mhc_streams * shape.hidden;
  Mapped total = map_block(rows, site.fn_packed, 0, std::min(block, inner));
  for (int begin = block; begin < inner; begin += block) {
    const Mapped part = map_block(rows, site.fn_packed, begin, std::min(begin + block, inner));
    simd::unroll<4>([&](auto r) {
      simd::unroll<3>([&](auto v) { total.v[r][v] = simd::add(total.v[r][v], part.v[r][v]); });
    });
  }
  simd::unroll<4>([&](auto r) {
    const float mean = sum_of_squares(rows.x[r], inner, block) / static_cast<float>(inner);
    const __m256 inv = simd::splat(1.0f / std::sqrt(mean + shape.rms_eps));
    simd::unroll<3>([&](auto v) {
      simd::store(z + r * mix + v * 8, simd::mul(total.v[r][v], inv));
    });
  });
}

struct Comb {
  __m256 m[4][4];  // [source][destination]
};

[[gnu::always_inline]] inline void normalise_columns(Comb& c, __m256 eps) {
  simd::unroll<4>([&](auto j) {
    const __m256 sum = simd::add(simd::add(c.m[0][j], c.m[1][j]), simd::add(c.m[2][j], c.m[3][j]));
    const __m256 inv = simd::div(simd::splat(1.0f), simd::add(sum, eps));
    simd::unroll<4>([&](auto i) { c.m[i][j] = simd::mul(c.m[i][j], inv); });
  });
}

[[gnu::always_inline]] inline void normalise_rows(Comb& c, __m256 eps) {
  simd::unroll<4>([&](auto i) {
    const __m256 sum = simd::add(simd::add(c.m[i][0], c.m[i][1]), simd::add(c.m[i][2], c.m[i][3]));
    const __m256 inv = simd::div(simd::splat(1.0f), simd::add(sum, eps));
    simd::unroll<4>([&](auto j) { c.m[i][j] = simd::mul(c.m[i][j], inv); });
  });
}

[[gnu::always_inline]] inline void softmax_rows(Comb& c, __m256 eps) {
  simd::unroll<4>([&](auto i) {
    const __m256 top = _mm256_max_ps(_mm256_max_ps(c.m[i][0], c.m[i][1]),
                                     _mm256_max_ps(c.m[i][2], c.m[i][3]));
    simd::unroll<4>([&](auto j) { c.m[i][j] = simd::exp(simd::sub(c.m[i][j], top)); });
    const __m256 sum = simd::add(simd::add(c.m[i][0], c.m[i][1]), simd::add(c.m[i][2], c.m[i][3]));
    const __m256 inv = simd::div(simd::splat(1.0f), sum);
    simd::unroll<4>([&](auto j) { c.m[i][j] = simd::fma(c.m[i][j], inv, eps); });
  });
}

// Eight tokens' z (in place) to pre | post | comb: one lane a token.
void make_mix(float* z, const MhcShape& shape, const MhcSite& site) {
  __m256 t[3][8];
  for (int b = 0; b < 3; ++b) {
    for (int r = 0; r < group; ++r) t[b][r] = simd::load(z + r * mix + b * 8);
    simd::transpose8(t[b]);
  }
  const __m256 eps = simd::splat(shape.hc_eps);
  for (int i = 0; i < 8; ++i) {
    const __m256 scale = simd::bcast(site.scale + (i < 4 ? 0 : 1));
    const __m256 gate = simd::sigmoid(simd::fma(t[0][i], scale, simd::bcast(site.base + i)));
    t[0][i] = i < 4 ? simd::add(gate, eps) : simd::add(gate, gate);
  }
  const __m256 scale = simd::bcast(site.scale + 2);
  Comb c;
  for (int i = 0; i < 16; ++i) {
    c.m[i / 4][i % 4] = simd::fma(t[1 + i / 8][i % 8], scale, simd::bcast(site.base + 8 + i));
  }
  softmax_rows(c, eps);
  normalise_columns(c, eps);
  for (int round = 1; round < shape.sinkhorn_rounds; ++round) {
    normalise_rows(c, eps);
    normalise_columns(c, eps);
  }
  for (int i = 0; i < 16; ++i) t[1 + i / 8][i % 8] = c.m[i / 4][i % 4];
  for (int b = 0; b < 3; ++b) {
    simd::transpose8(t[b]);
    for (int r = 0; r < group; ++r) simd::store(z + r * mix + b * 8, t[b][r]);
  }
}

void collapse(const float* x, const float* weights, const MhcShape& shape, const MhcSite& site,
              int norm_block, float* u_n) {
  const int hidden = shape.hidden;
  const __m256 p0 = simd::bcast(weights), p1 = simd::bcast(weights + 1);
  const __m256 p2 = simd::bcast(weights + 2), p3 = simd::bcast(weights + 3);
  for (int i = 0; i < hidden; i += 8) {
    __m256 u = simd::mul(p0, simd::load(x + i));
    u = simd::fma(p1, simd::load(x + hidden + i), u);
    u = simd::fma(p2, simd::load(x + 2 * hidden + i), u);
    u = simd::fma(p3, simd::load(x + 3 * hidden + i), u);
    simd::store(u_n + i, u);
  }
  const float mean = sum_of_squares(u_n, hidden, norm_block) / static_cast<float>(hidden);
  const __m256 inv = simd::splat(1.0f / std::sqrt(mean + shape.rms_eps));
  for (int i = 0; i < hidden; i += 8) {
    const __m256 v = simd::mul(simd::load(u_n + i), inv);
    simd::store(u_n + i, simd::mul(v, simd::load(site.norm_weight + i)));
  }
}

// Up to eight tokens.
void pre_group(const MhcShape& shape, const MhcSite& site, MhcBlocks blocks, const float* streams,
               int rows, float* mix_out, float* u_n, int64_t u_stride) {
  const int64_t step = int64_t{mhc_streams} * shape.hidden;
  alignas(32) float z[group * mix];
  for (int half = 0; half < group; half += 4) {
    // Lanes without a token repeat the last one.
    Rows x;
    for (int r = 0; r < 4; ++r) x.x[r] = streams + std::min(half + r, rows - 1) * step;
    if (half < rows) {
      map_rows(x, shape, site, blocks.mhc_block, z + half * mix);
    } else {
      std::copy_n(z, 4 * mix, z + half * mix);
    }
  }
  make_mix(z, shape, site);
  std::copy_n(z, rows * mix, mix_out);
  for (int r = 0; r < rows; ++r) {
    collapse(streams + r * step, z + r * mix, shape, site, blocks.norm_block, u_n + r * u_stride);
  }
}

}  // namespace

size_t mhc_packed_floats(int hidden) noexcept { return size_t{mhc_streams} * hidden * mix; }

void mhc_pack_fn(const float* fn, int hidden, float* packed) noexcept {
  const int inner = mhc_streams * hidden;
  for (int i = 0; i < inner; ++i) {
    for (int o = 0; o < mix; ++o) packed[int64_t{i} * mix + o] = fn[int64_t{o} * inner + i];
  }
}

void mhc_spread(const float* e, int64_t e_stride, int rows, int hidden, float* streams) noexcept {
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < mhc_streams; ++i) {
      std::copy_n(e + r * e_stride, hidden, streams + (int64_t{r} * mhc_streams + i) * hidden);
    }
  }
}

void mhc_pre(const MhcShape& shape, const MhcSite& site, MhcBlocks blocks, const float* streams,
             int rows, float* mix_out, float* u_n, int64_t u_stride) noexcept {
  for (int r = 0; r < rows; r += group) {
    pre_group(shape, site, blocks, streams + int64_t{r} * mhc_streams * shape.hidden,
              std::min(group, rows - r), mix_out + int64_t{r} * mix, u_n + r * u_stride, u_stride);
  }
}

void mhc_post(const float* y, int64_t y_stride, const float* mix_in, int rows, int hidden,
              float* streams) noexcept {
  for (int r = 0; r < rows; ++r) {
    const float* post = mix_in + int64_t{r} * mix + 4;
    const float* comb = post + 4;
    float* x = streams + int64_t{r} * mhc_streams * hidden;
    const float* yr = y + r * y_stride;
    for (int i = 0; i < hidden; i += 8) {
      const __m256 yv = simd::load(yr + i);
      const __m256 x0 = simd::load(x + i), x1 = simd::load(x + hidden + i);
      const __m256 x2 = simd::load(x + 2 * hidden + i), x3 = simd::load(x + 3 * hidden + i);
      simd::unroll<4>([&](auto j) {
        __m256 sum = simd::mul(simd::bcast(post + j), yv);
        sum = simd::fma(simd::bcast(comb + j), x0, sum);
        sum = simd::fma(simd::bcast(comb + 4 + j), x1, sum);
        sum = simd::fma(simd::bcast(comb + 8 + j), x2, sum);
        sum = simd::fma(simd::bcast(comb + 12 + j), x3, sum);
        simd::store(x + int64_t{j} * hidden + i, sum);
      });
    }
  }
}

void mhc_post_pre(const float* y, int64_t y_stride, const MhcShape& shape, const MhcSite& next,
                  MhcBlocks blocks, float* streams, int rows, float* mix_io, float* u_n,
                  int64_t u_stride) noexcept {
  for (int r = 0; r < rows; r += group) {
    const int count = std::min(group, rows - r);
    float* x = streams + int64_t{r} * mhc_streams * shape.hidden;
    float* m = mix_io + int64_t{r} * mix;
    mhc_post(y + r * y_stride, y_stride, m, count, shape.hidden, x);
    pre_group(shape, next, blocks, x, count, m, u_n + r * u_stride, u_stride);
  }
}

void mhc_mean(const float* streams, int rows, int hidden, float* h, int64_t h_stride) noexcept {
  const __m256 quarter = simd::splat(0.25f);
  for (int r = 0; r < rows; ++r) {
    const float* x = streams + int64_t{r} * mhc_streams * hidden;
    for (int i = 0; i < hidden; i += 8) {
      __m256 sum = simd::add(simd::load(x + i), simd::load(x + hidden + i));
      sum = simd::add(sum, simd::load(x + 2 * hidden + i));
      sum = simd::add(sum, simd::load(x + 3 * hidden + i));
      simd::store(h + r * h_stride + i, simd::mul(sum, quarter));
    }
  }
}

}  // namespace hitproof::kernels
