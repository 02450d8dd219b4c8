// The chunked form of KDA (docs/model.md 2.3). Instead of forming T = (I + A)^-1 it solves for
// Vn = T (beta (V - K exp(G) S)) by forward substitution, which is the same matrix. Decays between two
// rows are products of per-token decays, all at most 1: nothing can overflow.
#include <algorithm>
#include <cstring>

#include "kernels/model/kda.h"
#include "kernels/model/kda_inner.h"
#include "kernels/model/simd.h"

namespace hitproof::kernels::kda {
namespace {

struct Chunk {
  Tokens tokens;
  float* k_decayed;  // [rows][dim] k exp(G)
  float* q_decayed;  // [rows][dim] q exp(G)
  float* k_rest;     // [rows][dim] k exp(G_last - G)
  float* total;      // [dim] exp(G_last)
  float* a;          // [rows][max_chunk] A, strictly lower
  float* b;          // [rows][max_chunk] B, lower with diagonal
  float* values;     // [rows][dim] Vn
};

// out[r][0..8*NV) = sum_i w(r, i) * m[i][0..8*NV) added to start, for R rows.
// Element (r, i) of w is at w + r * row_step + i * col_step.
template <int R, int NV, class Start, class Finish>
[[gnu::always_inline]] inline void multiply_tile(const float* w, int64_t row_step, int64_t col_step,
                                                 int inner, const float* m, int64_t m_stride,
                                                 Start start, Finish finish) {
  __m256 acc[R][NV];
  simd::unroll<R>([&](auto r) { simd::unroll<NV>([&](auto v) { acc[r][v] = start(r, v); }); });
  for (int i = 0; i < inner; ++i) {
    __m256 row[NV];
    simd::unroll<NV>([&](auto v) { row[v] = simd::load(m + i * m_stride + v * 8); });
    simd::unroll<R>([&](auto r) {
      const __m256 x = simd::bcast(w + r * row_step + i * col_step);
      simd::unroll<NV>([&](auto v) { acc[r][v] = simd::fma(x, row[v], acc[r][v]); });
    });
  }
  simd::unroll<R>([&](auto r) { simd::unroll<NV>([&](auto v) { finish(r, v, acc[r][v]); }); });
}

// Decayed copies of q and k. exp(G) is the running product of the token decays.
void make_decays(int dim, int rows, const Chunk& c) {
  for (int i = 0; i < dim; i += 8) {
    __m256 decay = simd::splat(1.0f);
    for (int r = 0; r < rows; ++r) {
      const int64_t at = int64_t{r} * dim + i;
      decay = simd::mul(decay, simd::load(c.tokens.a + at));
      simd::store(c.k_decayed + at, simd::mul(simd::load(c.tokens.k + at), decay));
      simd::store(c.q_decayed + at, simd::mul(simd::load(c.tokens.q + at), decay));
    }
    simd::store(c.total + i, decay);
    __m256 rest = simd::splat(1.0f);
    for (int r = rows - 1; r >= 0; --r) {
      const int64_t at = int64_t{r} * dim + i;
      simd::store(c.k_rest + at, simd::mul(simd::load(c.tokens.k + at), rest));
      rest = simd::mul(rest, simd::load(c.tokens.a + at));
    }
  }
}

// A and B column by column: the key of row s decays as r moves away from it.
template <int Vectors>
void make_pairs(int rows, const Chunk& c) {
  constexpr int dim = Vectors * 8;
  for (int s = 0; s < rows; ++s) {
    __m256 key[Vectors];
    simd::unroll<Vectors>(
        [&](auto v) { key[v] = simd::load(c.tokens.k + int64_t{s} * dim + v * 8); });
    c.b[s * max_chunk + s] = c.tokens.kq[s];
    for (int r = s + 1; r < rows; ++r) {
      const int64_t at = int64_t{r} * dim;
      __m256 kk = _mm256_setzero_ps(), qk = _mm256_setzero_ps();
      simd::unroll<Vectors>([&](auto v) {
        key[v] = simd::mul(key[v], simd::load(c.tokens.a + at + v * 8));
        kk = simd::fma(simd::load(c.tokens.k + at + v * 8), key[v], kk);
        qk = simd::fma(simd::load(c.tokens.q + at + v * 8), key[v], qk);
      });
      c.a[r * max_chunk + s] = c.tokens.beta[r] * simd::sum_lanes(kk);
      c.b[r * max_chunk + s] = simd::sum_lanes(qk);
    }
  }
}

void make_pairs(int dim, int rows, const Chunk& c) {
  switch (dim / 8) {
    case 1: return make_pairs<1>(rows, c);
    case 2: return make_pairs<2>(rows, c);
    case 4: return make_pairs<4>(rows, c);
    case 8: return make_pairs<8>(rows, c);
    default: break;
  }
  // Other sizes: the same sums with the decayed key in memory.
  float key[max_dim];
  for (int s = 0; s < rows; ++s) {
    std::copy_n(c.tokens.k + int64_t{s} * dim, dim, key);
    c.b[s * max_chunk + s] = c.tokens.kq[s];
    for (int r = s + 1; r < rows; ++r) {
      const int64_t at = int64_t{r} * dim;
      __m256 kk = _mm256_setzero_ps(), qk = _mm256_setzero_ps();
      for (int i = 0; i < dim; i += 8) {
        const __m256 x = simd::mul(simd::load(key + i), simd::load(c.tokens.a + at + i));
        simd::store(key + i, x);
        kk = simd::fma(simd::load(c.tokens.k + at + i), x, kk);
        qk = simd::fma(simd::load(c.tokens.q + at + i), x, qk);
      }
      c.a[r * max_chunk + s] = c.tokens.beta[r] * simd::sum_lanes(kk);
      c.b[r * max_chunk + s] = simd::sum_lanes(qk);
    }
  }
}

template <int R, int NV>
void decayed_rows(int dim, int r0, int col, const Chunk& c, const float* state, float* o,
                  int64_t o_stride) {
  const auto zero = [](auto, auto) { return _mm256_setzero_ps(); };
  multiply_tile<R, NV>(
      c.k_decayed + int64_t{r0} * dim, dim, 1, dim, state + col, dim, zero,
      [&](auto r, auto v, __m256 sum) {
        const float* value = c.tokens.v + int64_t{r0 + r} * dim + col + v * 8;
        const __m256 beta = simd::bcast(c.tokens.beta + r0 + r);
        simd::store(c.values + int64_t{r0 + r} * dim + col + v * 8,
                    simd::mul(beta, simd::sub(simd::load(value), sum)));
      });
  multiply_tile<R, NV>(c.q_decayed + int64_t{r0} * dim, dim, 1, dim, state + col, dim, zero,
                       [&](auto r, auto v, __m256 sum) {
                         simd::store(o + (r0 + r) * o_stride + col + v * 8, sum);
                       });
}

template <int NV>
void run_columns(int dim, int rows, int col, const Chunk& c, float* state, float* o,
                 int64_t o_stride) {
  int r0 = 0;
  for (; r0 + 4 <= rows; r0 += 4) {
    decayed_rows<4, NV>(dim, r0, col, c, state, o, o_stride);
  }
  for (; r0 < rows; ++r0) {
    decayed_rows<1, NV>(dim, r0, col, c, state, o, o_stride);
  }
  for (int r = 0; r < rows; ++r) {
    float* value = c.values + int64_t{r} * dim + col;
    float* dst = o + r * o_stride + col;
    __m256 x[NV], y[NV];
    simd::unroll<NV>([&](auto v) {
      x[v] = simd::load(value + v * 8);
      y[v] = simd::load(dst + v * 8);
    });
    for (int s = 0; s < r; ++s) {
      const __m256 a = simd::bcast(c.a + r * max_chunk + s);
      const __m256 b = simd::bcast(c.b + r * max_chunk + s);
      simd::unroll<NV>([&](auto v) {
        const __m256 solved = simd::load(c.values + int64_t{s} * dim + col + v * 8);
        x[v] = _mm256_fnmadd_ps(a, solved, x[v]);
        y[v] = simd::fma(b, solved, y[v]);
      });
    }
    const __m256 diagonal = simd::bcast(c.b + r * max_chunk + r);
    simd::unroll<NV>([&](auto v) {
      simd::store(value + v * 8, x[v]);
      simd::store(dst + v * 8, simd::fma(diagonal, x[v], y[v]));
    });
  }
  for (int i = 0; i < dim; i += 4) {
    float* s = state + int64_t{i} * dim + col;
    multiply_tile<4, NV>(
        c.k_rest + i, 1, dim, rows, c.values + col, dim,
        [&](auto r, auto v) {
          return simd::mul(simd::bcast(c.total + i + r), simd::load(s + int64_t{r} * dim + v * 8));
        },
        [&](auto r, auto v, __m256 sum) { simd::store(s + int64_t{r} * dim + v * 8, sum); });
  }
}

}  // namespace

size_t chunked_workspace_floats(int dim) {
  return size_t{8} * max_chunk * dim + 2 * max_chunk + dim + size_t{2} * max_chunk * max_chunk;
}

void prefill_chunked(const KdaShape& shape, int chunk, const KdaInput& in, int rows,
                     const float* state_in, float* state_out, float* o, int64_t o_stride,
                     float* workspace) {
  const int dim = shape.dim;
  Chunk c;
  float* next = place_tokens(dim, chunk, workspace, &c.tokens);
  const int64_t block = int64_t{chunk} * dim;
  for (float** part : {&c.k_decayed, &c.q_decayed, &c.k_rest, &c.values}) {
    *part = next;
    next += block;
  }
  c.total = next;
  c.a = c.total + dim;
  c.b = c.a + int64_t{max_chunk} * max_chunk;
  for (int h = 0; h < shape.heads; ++h) {
    const int64_t offset = int64_t{h} * dim * dim;
    float* state = state_out + offset;
    if (state_in == nullptr) {
      std::memset(state, 0, sizeof(float) * dim * dim);
    } else if (state_in != state_out) {
      std::memcpy(state, state_in + offset, sizeof(float) * dim * dim);
    }
    for (int begin = 0; begin < rows; begin += chunk) {
      const int count = std::min(chunk, rows - begin);
      prepare_tokens(shape, in, h, begin, count, c.tokens);
      make_pairs(dim, count, c);
      make_decays(dim, count, c);
      float* out = o + begin * o_stride + int64_t{h} * dim;
      int col = 0;
      for (; col + 16 <= dim; col += 16) {
        run_columns<2>(dim, count, col, c, state, out, o_stride);
      }
      for (; col < dim; col += 8) {
        run_columns<1>(dim, count, col, c, state, out, o_stride);
      }
    }
  }
}

}  // namespace hitproof::kernels::kda
