#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/model/kda.h"
#include "kernels/model/kda_inner.h"
#include "kernels/model/simd.h"

namespace hitproof::kernels {
namespace kda {
namespace {

constexpr int token_block = 16;  // q, k, a of a block and a head's state share the first-level cache

// Squared lengths of q and k and their product, for the rows of a block.
struct Products {
  alignas(32) float qq[max_chunk];
  alignas(32) float kk[max_chunk];
  alignas(32) float qk[max_chunk];
};

template <int NV>
struct Columns {
  __m256 v[NV];
};

// r = S^T k and o = S^T q over the decayed state S = a . S0, for NV vectors of columns.
// With Pending the rank-1 update of the token before, kp d^T, is folded in as S0 passes by, so that
// a token costs one pass over the state.
template <int NV, bool Pending>
[[gnu::always_inline]] inline void pass(int dim, const float* k, const float* q, const float* a,
                                        const float* kp, const Columns<NV>& d, const float* from,
                                        float* to, Columns<NV>& r, Columns<NV>& o) {
  simd::unroll<NV>([&](auto v) { r.v[v] = o.v[v] = _mm256_setzero_ps(); });
  for (int i = 0; i < dim; ++i) {
    const __m256 ai = simd::bcast(a + i), ki = simd::bcast(k + i), qi = simd::bcast(q + i);
    const __m256 kpi = Pending ? simd::bcast(kp + i) : ai;
    simd::unroll<NV>([&](auto v) {
      __m256 s = simd::load(from + int64_t{i} * dim + v * 8);
      if constexpr (Pending) s = simd::fma(kpi, d.v[v], s);
      s = simd::mul(s, ai);
      simd::store(to + int64_t{i} * dim + v * 8, s);
      r.v[v] = simd::fma(ki, s, r.v[v]);
      o.v[v] = simd::fma(qi, s, o.v[v]);
    });
  }
}

// `rows` tokens for NV vectors of columns from column `col` on. State: from -> to, [dim][dim].
template <int NV>
void run_columns(int dim, int rows, const Tokens& t, int col, const float* from, float* to,
                 float* out, int64_t out_stride) {
  Columns<NV> r, o, d{};
  for (int row = 0; row < rows; ++row) {
    const int64_t at = int64_t{row} * dim;
    if (row == 0) {
      pass<NV, false>(dim, t.k, t.q, t.a, nullptr, d, from + col, to + col, r, o);
    } else {
      pass<NV, true>(dim, t.k + at, t.q + at, t.a + at, t.k + at - dim, d, to + col, to + col, r, o);
    }
    const float* value = t.v + at + col;
    float* dst = out + row * out_stride + col;
    const __m256 beta = simd::bcast(t.beta + row), kq = simd::bcast(t.kq + row);
    simd::unroll<NV>([&](auto v) {
      d.v[v] = simd::mul(beta, simd::sub(simd::load(value + v * 8), r.v[v]));
      // o = (S + k d^T)^T q = S^T q + (k . q) d
      simd::store(dst + v * 8, simd::fma(kq, d.v[v], o.v[v]));
    });
  }
  const float* k = t.k + int64_t{rows - 1} * dim;
  for (int i = 0; i < dim; ++i) {
    const __m256 ki = simd::bcast(k + i);
    float* s = to + int64_t{i} * dim + col;
    simd::unroll<NV>(
        [&](auto v) { simd::store(s + v * 8, simd::fma(ki, d.v[v], simd::load(s + v * 8))); });
  }
}

void run_block(int dim, int rows, const Tokens& t, const float* from, float* to, float* out,
               int64_t out_stride) {
  // A store that misses holds back the state's stores behind it: fetch the output lines early.
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < dim; i += 16) __builtin_prefetch(out + row * out_stride + i, 1);
  }
  // Three vectors of columns fill the registers best; four spill the broadcasts.
  for (int col = 0; col < dim;) {
    const int rest = dim - col;
    if (rest >= 48 || rest == 24) {
      run_columns<3>(dim, rows, t, col, from, to, out, out_stride);
      col += 24;
    } else if (rest >= 16) {
      run_columns<2>(dim, rows, t, col, from, to, out, out_stride);
      col += 16;
    } else {
      run_columns<1>(dim, rows, t, col, from, to, out, out_stride);
      col += 8;
    }
  }
}

void prefill_recurrent(const KdaShape& shape, const KdaInput& in, int first, int rows,
                       const float* state_in, float* state_out, float* o, int64_t o_stride,
                       float* workspace) {
  const int dim = shape.dim;
  Tokens tokens;
  place_tokens(dim, token_block, workspace, &tokens);
  for (int h = 0; h < shape.heads; ++h) {
    const int64_t offset = int64_t{h} * dim * dim;
    float* to = state_out + offset;
    const float* from = to;
    if (state_in != nullptr) {
      from = state_in + offset;
    } else {
      std::memset(to, 0, sizeof(float) * dim * dim);
    }
    for (int begin = 0; begin < rows; begin += token_block) {
      const int count = std::min(token_block, rows - begin);
      prepare_tokens(shape, in, h, first + begin, count, tokens);
      run_block(dim, count, tokens, from, to,
                o + (first + begin) * o_stride + int64_t{h} * dim, o_stride);
      from = to;
    }
  }
}

}  // namespace

float* place_tokens(int dim, int rows, float* workspace, Tokens* tokens) {
  const int64_t block = int64_t{rows} * dim;
  tokens->q = workspace;
  tokens->k = tokens->q + block;
  tokens->a = tokens->k + block;
  tokens->v = tokens->a + block;
  tokens->kq = tokens->v + block;
  tokens->beta = tokens->kq + rows;
  return tokens->beta + rows;
}

void prepare_tokens(const KdaShape& shape, const KdaInput& in, int head, int first, int rows,
                    const Tokens& tokens) {
  const int dim = shape.dim;
  const float* q0 = in.qkv + first * in.qkv_stride + int64_t{head} * dim;
  const int64_t part = int64_t{shape.heads} * dim;  // from q to k to v
  Products p;
  for (int row = 0; row < rows; ++row) {
    const float* q = q0 + row * in.qkv_stride;
    __m256 qq = _mm256_setzero_ps(), kk = qq, qk = qq;
    for (int i = 0; i < dim; i += 8) {
      const __m256 qv = simd::load(q + i), kv = simd::load(q + part + i);
      qq = simd::fma(qv, qv, qq);
      kk = simd::fma(kv, kv, kk);
      qk = simd::fma(qv, kv, qk);
    }
    p.qq[row] = simd::sum_lanes(qq);
    p.kk[row] = simd::sum_lanes(kk);
    p.qk[row] = simd::sum_lanes(qk);
  }
  const __m256 eps = simd::splat(shape.l2_eps);
  const __m256 scale = simd::splat(1.0f / std::sqrt(static_cast<float>(dim)));
  for (int row = 0; row < rows; row += 8) {
    const int n = std::min(8, rows - row);
    const __m256 one = simd::splat(1.0f);
    const __m256 k = simd::div(one, _mm256_sqrt_ps(simd::add(simd::load_head(p.kk + row, n), eps)));
    const __m256 q =
        simd::div(scale, _mm256_sqrt_ps(simd::add(simd::load_head(p.qq + row, n), eps)));
    simd::store_head(p.kk + row, k, n);
    simd::store_head(p.qq + row, q, n);
    simd::store_head(tokens.kq + row,
                     simd::mul(simd::load_head(p.qk + row, n), simd::mul(q, k)), n);
  }
  for (int row = 0; row < rows; ++row) {
    const float* q = q0 + row * in.qkv_stride;
    const float* g = in.g + (first + row) * in.g_stride + int64_t{head} * dim;
    const __m256 qs = simd::bcast(p.qq + row), ks = simd::bcast(p.kk + row);
    const int64_t at = int64_t{row} * dim;
    for (int i = 0; i < dim; i += 8) {
      // g is never positive; below the lowest argument the decay is the smallest number.
      const __m256 decay = _mm256_max_ps(simd::splat(simd::exp_lowest), simd::load(g + i));
      simd::store(tokens.q + at + i, simd::mul(simd::load(q + i), qs));
      simd::store(tokens.k + at + i, simd::mul(simd::load(q + part + i), ks));
      simd::store(tokens.v + at + i, simd::load(q + 2 * part + i));
      simd::store(tokens.a + at + i, simd::exp_inner(decay));
    }
    tokens.beta[row] = in.beta[(first + row) * in.beta_stride + head];
  }
}

}  // namespace kda

size_t kda_workspace_floats(const KdaShape& shape) noexcept {
  return kda::chunked_workspace_floats(shape.dim);
}

void kda_prefill(const KdaShape& shape, int chunk, const KdaInput& in, int rows,
                 const float* state_in, float* state_out, float* o, int64_t o_stride,
                 float* workspace) noexcept {
  if (rows <= 0) {
    const size_t bytes = sizeof(float) * kda_state_floats(shape);
    if (state_in == nullptr) {
      std::memset(state_out, 0, bytes);
    } else {
      std::memmove(state_out, state_in, bytes);
    }
  } else if (chunk == 0) {
    kda::prefill_recurrent(shape, in, 0, rows, state_in, state_out, o, o_stride, workspace);
  } else {
    kda::prefill_chunked(shape, chunk, in, rows, state_in, state_out, o, o_stride, workspace);
  }
}

void kda_decode(const KdaShape& shape, const KdaInput& in, int rows, const float* state_in,
                float* const* state_out, float* o, int64_t o_stride, float* workspace) noexcept {
  for (int row = 0; row < rows; ++row) {
    const float* from = row == 0 ? state_in : state_out[row - 1];
    kda::prefill_recurrent(shape, in, row, 1, from, state_out[row], o, o_stride, workspace);
  }
}

}  // namespace hitproof::kernels
