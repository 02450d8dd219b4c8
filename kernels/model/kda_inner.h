// What the two forms of the KDA recurrence share: a block of one head's tokens, made ready.
#pragma once

#include "kernels/model/kda.h"

namespace hitproof::kernels::kda {

inline constexpr int max_dim = 128;
inline constexpr int max_chunk = 64;

// q (normalised, scaled), k (normalised), a = exp(g), v, row stride dim; kq = q . k after scaling.
// v is copied because the recurrence waits for it: a burst of copies hides the memory's latency.
struct Tokens {
  float* q;
  float* k;
  float* a;
  float* v;
  float* kq;
  float* beta;
};

// Carves Tokens for `rows` rows out of a workspace; returns the first float behind them.
float* place_tokens(int dim, int rows, float* workspace, Tokens* tokens);

// Rows [first, first + rows) of head h.
void prepare_tokens(const KdaShape& shape, const KdaInput& in, int head, int first, int rows,
                    const Tokens& tokens);

// Chunked prefill of all heads (kda_chunked.cpp).
void prefill_chunked(const KdaShape& shape, int chunk, const KdaInput& in, int rows,
                     const float* state_in, float* state_out, float* o, int64_t o_stride,
                     float* workspace);
size_t chunked_workspace_floats(int dim);

}  // namespace hitproof::kernels::kda
