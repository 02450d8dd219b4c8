// Manifold-constrained hyper-connections: 4 residual streams and their mixing (docs/model.md 2.2).
//
// Streams X: [rows][4][hidden] fp32, contiguous. mix: [rows][24] fp32 = pre(4) | post(4) |
// comb(4x4, [source][destination]) after sigmoid and Sinkhorn. All arithmetic is fp32 (no BF16
// rounding of u, post or comb). Each row's bits are independent of the other rows.
// hidden is a multiple of 8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hitproof::kernels {

inline constexpr int mhc_streams = 4;
inline constexpr int mhc_mix_size = 24;  // (2 + 4) * 4

struct MhcShape {
  int hidden;
  int sinkhorn_rounds = 20;
  float rms_eps = 1e-5f;  // of the flattened input and of the site's norm
  float hc_eps = 1e-6f;
};

struct MhcSite {
  const float* fn_packed;    // [4 * hidden][24], made by mhc_pack_fn
  const float* base;         // [24]
  const float* scale;        // [3]: pre, post, comb
  const float* norm_weight;  // [hidden]: input_layernorm or post_attention_layernorm
};

struct MhcBlocks {  // from the profile
  int mhc_block;
  int norm_block;
};

size_t mhc_packed_floats(int hidden) noexcept;
// fn: [24][4 * hidden] as on disk.
void mhc_pack_fn(const float* fn, int hidden, float* packed) noexcept;

// X[t][i] = e[t], i = 0..3.
void mhc_spread(const float* e, int64_t e_stride, int rows, int hidden, float* streams) noexcept;

// mix from X; u = sum_i pre_i X_i; u_n = RMS(u; norm_weight). Writes mix and u_n [rows][hidden].
void mhc_pre(const MhcShape& shape, const MhcSite& site, MhcBlocks blocks, const float* streams,
             int rows, float* mix, float* u_n, int64_t u_stride) noexcept;

// X'_j = post_j * y + sum_i comb[i][j] * X_i, in place.
void mhc_post(const float* y, int64_t y_stride, const float* mix, int rows, int hidden,
              float* streams) noexcept;

// mhc_post of one site, then mhc_pre of the next, rows in blocks that stay in the cache; the same
// bits as the two calls. mix is read for the first and overwritten by the second.
void mhc_post_pre(const float* y, int64_t y_stride, const MhcShape& shape, const MhcSite& next,
                  MhcBlocks blocks, float* streams, int rows, float* mix, float* u_n,
                  int64_t u_stride) noexcept;

// h = (X_0 + X_1 + X_2 + X_3) / 4 (docs/model.md 2.1, step 4, before the final norm).
void mhc_mean(const float* streams, int rows, int hidden, float* h, int64_t h_stride) noexcept;

}  // namespace hitproof::kernels
