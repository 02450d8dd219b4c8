// Kimi delta attention: short convolution, gates, recurrence, output gate (docs/model.md 2.3).
//
// A rank's H heads of size d (d a multiple of 8, at most 128). Channels are ordered q | k | v, each
// [H][d]: C = 3*H*d. All activations fp32. Strides in elements.
//
// Cache encodings:
//   conv state   [history_rows][C] BF16, history_rows = 3 + drafts; raw (pre-conv) inputs of the
//                last history_rows tokens, oldest first, the newest row last; the convolution reads
//                the last three rows. Zero rows stand for tokens before the first.
//   recurrent    [H][K][V] fp32, V contiguous (the orientation of HF; vLLM's kernel has [H][V][K]:
//                a transpose). Chosen because every column of V is a recurrence of its own, so
//                lanes hold columns and no sum crosses lanes.
// A null state-in pointer means a fresh sequence (all zero). State-in and state-out may be the same
// memory. No alignment is required; rows on 64-byte borders (strides in multiples of 16 floats) are up
// to twice as fast, and calls of 32 to 128 rows keep their arrays in the second-level cache.
//
// Raw inputs are rounded to BF16 before use, always, so that a restart from the conv state gives the
// bits of one shot. Token-by-token prefill, decode and any split of them give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hitproof::kernels {

struct KdaShape {
  int heads;
  int dim;
  int history_rows = 4;        // 3 + draft tokens
  float lower_bound = -5.0f;
  float l2_eps = 1e-6f;        // inside the square root of the q/k norm
};

constexpr int kda_channels(const KdaShape& s) { return 3 * s.heads * s.dim; }
constexpr size_t kda_conv_bytes(const KdaShape& s) {
  return size_t{2} * s.history_rows * kda_channels(s);
}
constexpr size_t kda_state_floats(const KdaShape& s) {
  return size_t{1} * s.heads * s.dim * s.dim;
}

// out[t][c] = SiLU(sum_j weight[j][c] * raw[t-3+j][c]), j = 0..3.
// weight: [4][C] (transposed from disk's [C][1][4]; row 3 multiplies the current token).
// out may not overlap raw.
void kda_conv_silu(const KdaShape& shape, const float* raw, int64_t raw_stride, int rows,
                   const float* weight, const uint16_t* history, float* out,
                   int64_t out_stride) noexcept;

// The conv state after `rows` tokens of `raw` that follow `history`. out may be history.
void kda_conv_state(const KdaShape& shape, const float* raw, int64_t raw_stride, int rows,
                    const uint16_t* history, uint16_t* out) noexcept;

// g[t][h*d+i] = lower_bound * sigmoid(a_exp[h] * (f[t][h*d+i] + dt_bias[h*d+i])), a_exp = exp(A_log);
// beta[t][h] = sigmoid(b[t][h]). g may be f; beta may be b.
void kda_gates(const KdaShape& shape, const float* f, int64_t f_stride, const float* b,
               int64_t b_stride, int rows, const float* a_exp, const float* dt_bias, float* g,
               int64_t g_stride, float* beta, int64_t beta_stride) noexcept;

struct KdaInput {
  const float* qkv;  // [rows][C] after the convolution; q and k are normalised inside
  int64_t qkv_stride;
  const float* g;    // [rows][H*d] log decay
  int64_t g_stride;
  const float* beta; // [rows][H]
  int64_t beta_stride;
};

// Floats of workspace for kda_prefill (any chunk) and kda_decode.
size_t kda_workspace_floats(const KdaShape& shape) noexcept;

// o[t][h*d+i] (before the output gate) of `rows` tokens from state_in; state after the last token to
// state_out. chunk: 0 = token by token, 16 | 32 | 64 = chunked form (KernelProfile::kda_chunk);
// chunks are counted from the first row of the call.
void kda_prefill(const KdaShape& shape, int chunk, const KdaInput& in, int rows,
                 const float* state_in, float* state_out, float* o, int64_t o_stride,
                 float* workspace) noexcept;

// As kda_prefill token by token, for few rows; the state after row i goes to state_out[i], rows
// entries, distinct from each other.
void kda_decode(const KdaShape& shape, const KdaInput& in, int rows, const float* state_in,
                float* const* state_out, float* o, int64_t o_stride, float* workspace) noexcept;

// y = RMS over d of o per head (eps) * o_norm[d] * sigmoid(gout). y may be o.
void kda_output_gate(const KdaShape& shape, const float* o, int64_t o_stride, const float* gout,
                     int64_t gout_stride, int rows, const float* o_norm, float eps, int norm_block,
                     float* y, int64_t y_stride) noexcept;

}  // namespace hitproof::kernels
