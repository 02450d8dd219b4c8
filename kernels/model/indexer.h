// KPool sparse indexer: pooled keys, tail ring, scores, selection (docs/model.md 2.5 and 4.1).
//
// Pool p = tokens 4p..4p+3. Two encodings, by IndexerShape::exact:
//   false  the serving caches: tail [2][ring][dim] BF16 (half 0 = ki, half 1 = gs); pooled keys e4m3
//          with a power-of-two fp32 scale, after BF16 and Hadamard.
//   true   fp32 tail (same layout) and fp32 pooled keys, no Hadamard, no rounding: for parity with
//          Transformers in fp32.
// Each row's bits are independent of the other rows of a call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/model/paged.h"

namespace hitproof::kernels {

inline constexpr int index_pool = 4;

struct IndexerShape {
  int heads;  // replicated: all index heads
  int dim;    // power of two, 8 to 256
  bool exact = false;
};

// Tail of one request and layer. Strides in elements (BF16, or fp32 where exact).
struct TailView {
  void* data;
  int64_t half_stride;
  int64_t slot_stride;
  int64_t channel_stride;
  int ring;  // slot of token t is t mod ring; at least 4
};

// Pooled keys of a block: block_tokens/4 states in virtual pages of 64 states (32 where 64 does not
// divide): page_states*dim bytes of codes, then page_states fp32 scales. Exact: page_states*dim fp32,
// no scales.
constexpr int index_page_states(int block_tokens) {
  return (block_tokens / index_pool) % 64 == 0 ? 64 : 32;
}
constexpr size_t index_state_bytes(const IndexerShape& s) {
  return s.exact ? size_t{4} * s.dim : size_t{1} * s.dim + 4;
}
constexpr size_t index_block_bytes(const IndexerShape& s, int block_tokens) {
  return index_state_bytes(s) * (block_tokens / index_pool);
}

// For tokens first .. first+rows-1 of one sequence, in order: where a token completes a pool, pools it
// with the three before it (this call's rows, else the tail) and writes the pooled key to the cache;
// then stashes the token in its tail slot. ki: [rows][dim] after LayerNorm; gs: [rows][dim];
// ape: [4][dim] fp32. ki and gs are rounded to BF16 before use unless exact.
void indexer_append(const IndexerShape& shape, const float* ki, int64_t ki_stride, const float* gs,
                    int64_t gs_stride, const float* ape, int64_t first, int rows,
                    const TailView& tail, const PagedCache& cache) noexcept;

// Query chain. q: [rows][heads*dim], w: [rows][heads] (raw head weights). Writes codes (values of
// e4m3 codes as fp32; may be q) and folded weights w * qscale * dim^-0.5 * heads^-0.5 (may be w).
void indexer_queries(const IndexerShape& shape, const float* q, int64_t q_stride, const float* w,
                     int64_t w_stride, int rows, float* codes, int64_t codes_stride, float* folded,
                     int64_t folded_stride) noexcept;

// Pooled keys 0..pools-1 decoded for scoring: packed [ceil(pools/16)][dim][16] codes, then
// ceil(pools/16)*16 scales (1 where exact).
size_t indexer_packed_floats(const IndexerShape& shape, int pools) noexcept;
void indexer_load_keys(const IndexerShape& shape, const PagedCache& cache, int pools,
                       float* packed) noexcept;

// Pools visible to the query at position t: those with 4p+3 <= t.
constexpr int visible_pools(int64_t t) { return static_cast<int>((t + 1) / index_pool); }

// scores[r][p] = scale_p * sum_h folded[r][h] * relu(codes[r][h] . key_p) for p < pools
// (docs/model.md 2.5). scores rows are score_stride floats apart, score_stride >= pools rounded up to
// 16. block: KernelProfile::indexer_block.
void indexer_scores(const IndexerShape& shape, const float* codes, int64_t codes_stride,
                    const float* folded, int64_t folded_stride, int rows, const float* packed,
                    int packed_pools, int pools, int block, float* scores,
                    int64_t score_stride) noexcept;

// The topk pools of the highest score among scores[0..pools), ascending by pool id; equal scores:
// lower id first; NaN counts as lowest. Returns min(topk, pools). keys: workspace of pools values,
// rounded up to 8.
int indexer_topk(const float* scores, int pools, int topk, int32_t* selected, int32_t* keys) noexcept;

// Query chain done: codes and folded of rows whose positions are positions[r] (nullptr: first + r).
// Writes selected pools (ascending) to pools_out[r*pools_stride ..] and their number to counts[r].
// topk = index_topk / 4 pools. Where all visible pools fit in topk nothing is scored.
// packed must hold at least visible_pools(last position) pools; packed_pools is its capacity as given
// to indexer_load_keys. workspace: indexer_select_workspace_floats(packed_pools).
size_t indexer_select_workspace_floats(int packed_pools) noexcept;
void indexer_select(const IndexerShape& shape, const float* codes, int64_t codes_stride,
                    const float* folded, int64_t folded_stride, int64_t first,
                    const int64_t* positions, int rows, const float* packed, int packed_pools,
                    int topk, int block, int32_t* pools_out, int64_t pools_stride, int32_t* counts,
                    float* workspace) noexcept;

// Token ids of a selection for the query at t, ascending: 4 a pool, then the tail tokens
// floor((t+1)/4)*4 .. t. Fills ids[count..width) with -1. width >= 4*pools + 3. Returns count.
int indexer_expand(const int32_t* pools, int pool_count, int64_t t, int32_t* ids,
                   int width) noexcept;

}  // namespace hitproof::kernels
