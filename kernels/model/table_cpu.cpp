// The CPU side of the table: thin wrappers.
#include "kernels/model/kda_exact.h"
#include "kernels/model/norm.h"
#include "kernels/model/small_gemm.h"
#include "kernels/model/table.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace hitproof::kernels {
namespace {

constexpr std::align_val_t alignment{256};

const char* bind(int) { return nullptr; }
void* allocate(size_t bytes) { return ::operator new(bytes, alignment, std::nothrow); }
void release(void* memory) { ::operator delete(memory, alignment); }
void copy(void*, void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
void zero(void*, void* to, size_t bytes) { std::memset(to, 0, bytes); }
const char* synchronize(void*) { return nullptr; }
const char* error() { return nullptr; }

void gather(void*, const float* table, int64_t table_stride, const int32_t* index, int rows,
            int cols, float* out, int64_t out_stride) {
  for (int r = 0; r < rows; ++r) {
    float* row = out + r * out_stride;
    if (index[r] < 0) {
      std::fill_n(row, cols, 0.0f);
    } else {
      std::copy_n(table + index[r] * table_stride, cols, row);
    }
  }
}

void copy_rows(void*, const void* from, int64_t from_stride, int rows, int cols, void* to,
               int64_t to_stride) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  for (int r = 0; r < rows; ++r) {
    std::memcpy(target + 4 * r * to_stride, source + 4 * r * from_stride, size_t{4} * cols);
  }
}

void best_tokens(void*, const float* logits, int64_t stride, int rows, int n, int32_t first,
                 RowBest* best) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  for (int r = 0; r < rows; ++r) {
    const float* row = logits + r * stride;
    RowBest b{lowest, lowest, 0};
    for (int i = 0; i < n; ++i) {
      if (row[i] > b.best) {
        b = {row[i], b.best, i};
      } else if (row[i] > b.second) {
        b.second = row[i];
      }
    }
    b.token += first;
    best[r] = b;
  }
}

void count_visible(void*, int64_t first, int rows, int32_t* counts) {
  for (int r = 0; r < rows; ++r)
    counts[r] = static_cast<int32_t>(first + r + 1);
}

void gemm(void*, const float* a, int64_t lda, int rows, int k, const float* packed, int n,
          int kblock, bool accumulate, float* c, int64_t ldc) {
  small_gemm(a, lda, rows, k, packed, n, kblock, accumulate, c, ldc);
}

void norm(void*, const float* x, int64_t x_stride, const float* weight, float eps, int rows,
          int dim, int norm_block, float* y, int64_t y_stride) {
  rms_norm(x, x_stride, weight, eps, rows, dim, norm_block, y, y_stride);
}

void add_norm(void*, const float* x, int64_t x_stride, const float* add, int64_t add_stride,
              const float* weight, float eps, int rows, int dim, int norm_block, float* sum,
              int64_t sum_stride, float* y, int64_t y_stride) {
  add_rms_norm(x, x_stride, add, add_stride, weight, eps, rows, dim, norm_block, sum, sum_stride, y,
               y_stride);
}

void layers(void*, const float* x, int64_t x_stride, const float* weight, const float* bias,
            float eps, int rows, int dim, int norm_block, float* y, int64_t y_stride) {
  layer_norm(x, x_stride, weight, bias, eps, rows, dim, norm_block, y, y_stride);
}

void add(void*, const float* a, int64_t a_stride, const float* b, int64_t b_stride, int rows,
         int dim, float* y, int64_t y_stride) {
  add_rows(a, a_stride, b, b_stride, rows, dim, y, y_stride);
}

void spread(void*, const float* e, int64_t e_stride, int rows, int hidden, float* streams) {
  mhc_spread(e, e_stride, rows, hidden, streams);
}

void pre(void*, MhcShape shape, MhcSite site, MhcBlocks blocks, const float* streams, int rows,
         float* mix, float* u_n, int64_t u_stride) {
  mhc_pre(shape, site, blocks, streams, rows, mix, u_n, u_stride);
}

void post(void*, const float* y, int64_t y_stride, const float* mix, int rows, int hidden,
          float* streams) {
  mhc_post(y, y_stride, mix, rows, hidden, streams);
}

void post_pre(void*, const float* y, int64_t y_stride, MhcShape shape, MhcSite next,
              MhcBlocks blocks, float* streams, int rows, float* mix, float* u_n,
              int64_t u_stride) {
  mhc_post_pre(y, y_stride, shape, next, blocks, streams, rows, mix, u_n, u_stride);
}

void mean(void*, const float* streams, int rows, int hidden, float* h, int64_t h_stride) {
  mhc_mean(streams, rows, hidden, h, h_stride);
}

void conv_silu(void*, KdaShape shape, const float* raw, int64_t raw_stride, int rows,
               const float* weight, const uint16_t* history, float* out, int64_t out_stride) {
  kda_conv_silu(shape, raw, raw_stride, rows, weight, history, out, out_stride);
}

void conv_state(void*, KdaShape shape, const float* raw, int64_t raw_stride, int rows,
                const uint16_t* history, uint16_t* out) {
  kda_conv_state(shape, raw, raw_stride, rows, history, out);
}

void conv_silu_exact(void*, const float* raw, int64_t raw_stride, int rows, int channels,
                     const float* weight, const float* history, int slots, float* out,
                     int64_t out_stride) {
  exact_conv_silu(raw, raw_stride, rows, channels, weight, history, slots, out, out_stride);
}

void conv_state_exact(void*, const float* raw, int64_t raw_stride, int rows, int channels,
                      const float* history, int slots, float* out) {
  exact_conv_state(raw, raw_stride, rows, channels, history, slots, out);
}

void gates(void*, KdaShape shape, const float* f, int64_t f_stride, const float* b,
           int64_t b_stride, int rows, const float* a_exp, const float* dt_bias, float* g,
           int64_t g_stride, float* beta, int64_t beta_stride) {
  kda_gates(shape, f, f_stride, b, b_stride, rows, a_exp, dt_bias, g, g_stride, beta, beta_stride);
}

size_t kda_workspace(KdaShape shape, int) { return kda_workspace_floats(shape); }

void prefill(void*, KdaShape shape, int chunk, KdaInput in, int rows, const float* state_in,
             float* state_out, float* o, int64_t o_stride, float* workspace) {
  kda_prefill(shape, chunk, in, rows, state_in, state_out, o, o_stride, workspace);
}

void decode(void*, KdaShape shape, KdaInput in, int rows, const float* state_in, float* state_out0,
            float* state_out1, float* o, int64_t o_stride, float* workspace) {
  float* const states[2] = {state_out0, state_out1};
  kda_decode(shape, in, rows, state_in, states, o, o_stride, workspace);
}

void output_gate(void*, KdaShape shape, const float* o, int64_t o_stride, const float* gout,
                 int64_t gout_stride, int rows, const float* o_norm, float eps, int norm_block,
                 float* y, int64_t y_stride) {
  kda_output_gate(shape, o, o_stride, gout, gout_stride, rows, o_norm, eps, norm_block, y,
                  y_stride);
}

void latents_append(void*, LatentRecord rec, const float* c, int64_t c_stride, int64_t first,
                    int rows, PagedCache cache) {
  mla_append(rec, c, c_stride, first, rows, cache);
}

void latents_load(void*, LatentRecord rec, PagedCache cache, int64_t first, int count, float* out) {
  mla_load(rec, cache, first, count, out);
}

void latents_gather(void*, LatentRecord rec, PagedCache cache, const int32_t* ids, int count,
                    float* out) {
  mla_gather(rec, cache, ids, count, out);
}

size_t mla_workspace(int, int, int latent, int block, int) {
  return mla_workspace_floats(latent, block);
}

void attend(void*, const float* q, int64_t q_stride, int rows, int heads, int latent, float scale,
            const float* latents, const int32_t* ids, int64_t ids_stride, const int32_t* counts,
            int, int block, float* out, int64_t out_stride, float* workspace) {
  mla_attend(q, q_stride, rows, heads, latent, scale, latents, ids, ids_stride, counts, block, out,
             out_stride, workspace);
}

void index_append(void*, IndexerShape shape, const float* ki, int64_t ki_stride, const float* gs,
                  int64_t gs_stride, const float* ape, int64_t first, int rows, TailView tail,
                  PagedCache cache) {
  indexer_append(shape, ki, ki_stride, gs, gs_stride, ape, first, rows, tail, cache);
}

void index_queries(void*, IndexerShape shape, const float* q, int64_t q_stride, const float* w,
                   int64_t w_stride, int rows, float* codes, int64_t codes_stride, float* folded,
                   int64_t folded_stride) {
  indexer_queries(shape, q, q_stride, w, w_stride, rows, codes, codes_stride, folded,
                  folded_stride);
}

size_t index_packed(IndexerShape shape, int pools) { return indexer_packed_floats(shape, pools); }

void index_load(void*, IndexerShape shape, PagedCache cache, int pools, float* packed) {
  indexer_load_keys(shape, cache, pools, packed);
}

void index_scores(void*, IndexerShape shape, const float* codes, int64_t codes_stride,
                  const float* folded, int64_t folded_stride, int rows, const float* packed,
                  int packed_pools, int pools, int block, float* scores, int64_t score_stride) {
  indexer_scores(shape, codes, codes_stride, folded, folded_stride, rows, packed, packed_pools,
                 pools, block, scores, score_stride);
}

void index_topk(void*, const float* scores, int64_t score_stride, int rows, int pools, int topk,
                int32_t* selected, int64_t selected_stride, int32_t* counts, int64_t counts_stride,
                int32_t* workspace) {
  for (int r = 0; r < rows; ++r) {
    counts[r * counts_stride] = indexer_topk(scores + r * score_stride, pools, topk,
                                             selected + r * selected_stride, workspace);
  }
}

size_t select_workspace(int, int packed_pools) {
  return indexer_select_workspace_floats(packed_pools);
}

void index_select(void*, IndexerShape shape, const float* codes, int64_t codes_stride,
                  const float* folded, int64_t folded_stride, int64_t first,
                  const int64_t* positions, int rows, const float* packed, int packed_pools,
                  int topk, int block, int32_t* pools_out, int64_t pools_stride, int32_t* counts,
                  int64_t counts_stride, float* workspace) {
  constexpr int group = 48; // a multiple of the rows that are scored together
  for (int begin = 0; begin < rows; begin += group) {
    const int count = std::min(group, rows - begin);
    int32_t found[group];
    indexer_select(shape, codes + begin * codes_stride, codes_stride,
                   folded + begin * folded_stride, folded_stride, first + begin,
                   positions == nullptr ? nullptr : positions + begin, count, packed, packed_pools,
                   topk, block, pools_out + begin * pools_stride, pools_stride, found, workspace);
    for (int r = 0; r < count; ++r)
      counts[(begin + r) * counts_stride] = found[r];
  }
}

void index_expand(void*, const int32_t* pools, int64_t pools_stride, const int32_t* pool_counts,
                  int64_t pool_counts_stride, int64_t first, const int64_t* positions, int rows,
                  int32_t* ids, int64_t ids_stride, int width, int32_t* counts) {
  for (int r = 0; r < rows; ++r) {
    const int64_t t = positions == nullptr ? first + r : positions[r];
    counts[r] = indexer_expand(pools + r * pools_stride, pool_counts[r * pool_counts_stride], t,
                               ids + r * ids_stride, width);
  }
}

void route(void*, const float* logits, int64_t logits_stride, const float* bias, int rows,
           int experts, int topk, float scaling, int32_t* ids, float* weights) {
  moe_route(logits, logits_stride, bias, rows, experts, topk, scaling, ids, weights);
}

size_t expert_workspace(ExpertShape shape, int, int) { return expert_workspace_floats(shape); }
size_t moe_ints(int rows, int experts, int topk) { return moe_workspace_ints(rows, experts, topk); }

void mlp(void*, ExpertShape shape, const float* x, int64_t x_stride, int rows, const float* packed,
         int block, bool accumulate, float* y, int64_t y_stride, float* workspace) {
  expert_mlp(shape, x, x_stride, rows, packed, block, accumulate, y, y_stride, workspace);
}

void grouped(void*, ExpertShape shape, const float* x, int64_t x_stride, int rows,
             const float* packed, int experts, const int32_t* ids, const float* weights, int topk,
             int block, float* y, int64_t y_stride, float* workspace, int32_t* int_workspace) {
  moe_grouped(shape, x, x_stride, rows, packed, experts, ids, weights, topk, block, y, y_stride,
              workspace, int_workspace);
}

} // namespace

const ModelKernels& cpu_model_kernels() {
  static constexpr ModelKernels table{
      .table_bytes = sizeof(ModelKernels),
      .device = false,
      .name = "cpu",
      .bind = bind,
      .allocate = allocate,
      .release = release,
      .allocate_host = allocate,
      .release_host = release,
      .to_device = copy,
      .to_host = copy,
      .copy = copy,
      .zero = zero,
      .synchronize = synchronize,
      .error = error,
      .gather_rows = gather,
      .copy_rows = copy_rows,
      .best_tokens = best_tokens,
      .count_visible = count_visible,
      .small_gemm = gemm,
      .rms_norm = norm,
      .add_rms_norm = add_norm,
      .layer_norm = layers,
      .add_rows = add,
      .mhc_spread = spread,
      .mhc_pre = pre,
      .mhc_post = post,
      .mhc_post_pre = post_pre,
      .mhc_mean = mean,
      .kda_conv_silu = conv_silu,
      .kda_conv_state = conv_state,
      .kda_conv_silu_exact = conv_silu_exact,
      .kda_conv_state_exact = conv_state_exact,
      .kda_gates = gates,
      .kda_workspace_floats = kda_workspace,
      .kda_prefill = prefill,
      .kda_decode = decode,
      .kda_output_gate = output_gate,
      .mla_append = latents_append,
      .mla_load = latents_load,
      .mla_gather = latents_gather,
      .mla_workspace_floats = mla_workspace,
      .mla_attend = attend,
      .indexer_append = index_append,
      .indexer_queries = index_queries,
      .indexer_packed_floats = index_packed,
      .indexer_load_keys = index_load,
      .indexer_scores = index_scores,
      .indexer_topk = index_topk,
      .indexer_select_workspace_floats = select_workspace,
      .indexer_select = index_select,
      .indexer_expand = index_expand,
      .moe_route = route,
      .expert_workspace_floats = expert_workspace,
      .moe_workspace_ints = moe_ints,
      .expert_mlp = mlp,
      .moe_grouped = grouped,
  };
  return table;
}

} // namespace hitproof::kernels
