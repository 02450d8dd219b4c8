// Every operation of the forward pass as a pointer: one table for the CPU, one for a CUDA device.
//
// Promises, for both sides:
//
// Parameters, shapes, strides, aliasing and rounding are those of the function of the same name in
// the headers beside this one; where a comment here says more, it holds.
//
// Both sides sum in the same order with the same elementary functions: results are equal bit for
// bit under every profile, except in kda_conv_silu_exact (libm's exp on the CPU; relative 1e-6) and
// where kda_chunk is not 0 (CUDA takes the tokens one by one whatever it is, so its bits are those
// of chunk 0). Two runs give equal bits, and a row's bits do not depend on the other rows.
//
// Pointers, those inside structs included (MhcSite, KdaInput, TailView, PagedCache), are memory of
// that side: for CUDA memory of the bound device, of which to_device and to_host name the other
// end. Structs themselves travel by value. Null is allowed where the CPU's function allows it.
//
// Nothing allocates or waits for the device except allocate, release, bind and synchronize. Work is
// enqueued on `stream` (a cudaStream_t; null: the default stream); the CPU ignores it and works at
// once. Workspaces belong to the caller and are free again for the next call on the same stream;
// their sizes are asked for with the very arguments of the call. A row count of 0 is allowed;
// kda_prefill then hands the state on.
//
// Errors: a call cannot fail on the CPU. A failed CUDA call or launch is kept, the first one wins,
// and error() and synchronize() name it from then on; results since then are void.
//
// CUDA limits: KDA head size 8, 16, 32, 64 or 128; index dim a power of two from 8 to 256; latent
// at most 512; an mla_block beyond 5,888 tokens only where no row has more; experts at most 512, 16
// a token; 65,535 rows of a convolution. A call beyond them does nothing and is kept as an error.
// Packed weights, latents and workspaces lie on 16-byte borders.
#pragma once

#include "kernels/model/indexer.h"
#include "kernels/model/kda.h"
#include "kernels/model/mhc.h"
#include "kernels/model/mla.h"
#include "kernels/model/moe.h"
#include "kernels/model/paged.h"

#include <cstddef>
#include <cstdint>

namespace hitproof::kernels {

// The largest logit of a row (equal ones: the lower token; NaN counts as lowest), and the largest
// of the others (-inf where there is none).
struct RowBest {
  float best;
  float second;
  int32_t token;
};

struct ModelKernels {
  uint32_t table_bytes; // sizeof(ModelKernels): a library of another build is seen by it
  bool device;          // memory of this side is not the host's
  const char* name;     // "cpu" or "cuda"

  // Memory and order. Messages are null where all is well.
  const char* (*bind)(int ordinal);     // the calling thread's device from now on
  void* (*allocate)(size_t bytes);      // on 256-byte borders; null: out of memory
  void (*release)(void* memory);        // null is allowed; enqueued work on it is waited for
  void* (*allocate_host)(size_t bytes); // pinned: copies from and to it are asynchronous
  void (*release_host)(void* memory);
  // `from` of to_device and `to` of to_host are host memory, to be left alone until synchronize.
  void (*to_device)(void* stream, void* to, const void* from, size_t bytes);
  void (*to_host)(void* stream, void* to, const void* from, size_t bytes);
  void (*copy)(void* stream, void* to, const void* from, size_t bytes); // within this side
  void (*zero)(void* stream, void* to, size_t bytes);
  const char* (*synchronize)(void* stream);
  const char* (*error)();

  // Rows. Elements of 4 bytes, strides in elements.
  // out[r] = table[index[r]]; zeros where index[r] < 0 (embedding at position 0 of the draft layer;
  // rows that another rank holds).
  void (*gather_rows)(void* stream, const float* table, int64_t table_stride, const int32_t* index,
                      int rows, int cols, float* out, int64_t out_stride);
  // to[r] = from[r]; the two may not overlap.
  void (*copy_rows)(void* stream, const void* from, int64_t from_stride, int rows, int cols,
                    void* to, int64_t to_stride);
  // best[r] over n logits; `first` is added to the token: the place of this rank's vocabulary.
  void (*best_tokens)(void* stream, const float* logits, int64_t stride, int rows, int n,
                      int32_t first, RowBest* best);
  // counts[r] = first + r + 1: tokens that the row at position first + r sees.
  void (*count_visible)(void* stream, int64_t first, int rows, int32_t* counts);

  // small_gemm.h. Packed weights have one form on both sides: pack on the host, copy the bytes.
  void (*small_gemm)(void* stream, const float* a, int64_t lda, int rows, int k,
                     const float* packed, int n, int kblock, bool accumulate, float* c,
                     int64_t ldc);

  // norm.h
  void (*rms_norm)(void* stream, const float* x, int64_t x_stride, const float* weight, float eps,
                   int rows, int dim, int norm_block, float* y, int64_t y_stride);
  void (*add_rms_norm)(void* stream, const float* x, int64_t x_stride, const float* add,
                       int64_t add_stride, const float* weight, float eps, int rows, int dim,
                       int norm_block, float* sum, int64_t sum_stride, float* y, int64_t y_stride);
  void (*layer_norm)(void* stream, const float* x, int64_t x_stride, const float* weight,
                     const float* bias, float eps, int rows, int dim, int norm_block, float* y,
                     int64_t y_stride);
  void (*add_rows)(void* stream, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                   int rows, int dim, float* y, int64_t y_stride); // y may be a or b

  // mhc.h
  void (*mhc_spread)(void* stream, const float* e, int64_t e_stride, int rows, int hidden,
                     float* streams);
  void (*mhc_pre)(void* stream, MhcShape shape, MhcSite site, MhcBlocks blocks,
                  const float* streams, int rows, float* mix, float* u_n, int64_t u_stride);
  void (*mhc_post)(void* stream, const float* y, int64_t y_stride, const float* mix, int rows,
                   int hidden, float* streams);
  void (*mhc_post_pre)(void* stream, const float* y, int64_t y_stride, MhcShape shape, MhcSite next,
                       MhcBlocks blocks, float* streams, int rows, float* mix, float* u_n,
                       int64_t u_stride);
  void (*mhc_mean)(void* stream, const float* streams, int rows, int hidden, float* h,
                   int64_t h_stride);

  // kda.h and kda_exact.h
  void (*kda_conv_silu)(void* stream, KdaShape shape, const float* raw, int64_t raw_stride,
                        int rows, const float* weight, const uint16_t* history, float* out,
                        int64_t out_stride);
  void (*kda_conv_state)(void* stream, KdaShape shape, const float* raw, int64_t raw_stride,
                         int rows, const uint16_t* history, uint16_t* out);
  void (*kda_conv_silu_exact)(void* stream, const float* raw, int64_t raw_stride, int rows,
                              int channels, const float* weight, const float* history, int slots,
                              float* out, int64_t out_stride);
  void (*kda_conv_state_exact)(void* stream, const float* raw, int64_t raw_stride, int rows,
                               int channels, const float* history, int slots, float* out);
  void (*kda_gates)(void* stream, KdaShape shape, const float* f, int64_t f_stride, const float* b,
                    int64_t b_stride, int rows, const float* a_exp, const float* dt_bias, float* g,
                    int64_t g_stride, float* beta, int64_t beta_stride);
  size_t (*kda_workspace_floats)(KdaShape shape, int rows); // of the largest call
  void (*kda_prefill)(void* stream, KdaShape shape, int chunk, KdaInput in, int rows,
                      const float* state_in, float* state_out, float* o, int64_t o_stride,
                      float* workspace);
  // One row, or two: the state after row i goes to state_out<i>; state_out1 is null for one row.
  void (*kda_decode)(void* stream, KdaShape shape, KdaInput in, int rows, const float* state_in,
                     float* state_out0, float* state_out1, float* o, int64_t o_stride,
                     float* workspace);
  void (*kda_output_gate)(void* stream, KdaShape shape, const float* o, int64_t o_stride,
                          const float* gout, int64_t gout_stride, int rows, const float* o_norm,
                          float eps, int norm_block, float* y, int64_t y_stride);

  // mla.h
  void (*mla_append)(void* stream, LatentRecord rec, const float* c, int64_t c_stride,
                     int64_t first, int rows, PagedCache cache);
  void (*mla_load)(void* stream, LatentRecord rec, PagedCache cache, int64_t first, int count,
                   float* out);
  void (*mla_gather)(void* stream, LatentRecord rec, PagedCache cache, const int32_t* ids,
                     int count, float* out);
  // most: no counts[r] is larger; it decides how the work is spread, not the result.
  size_t (*mla_workspace_floats)(int rows, int heads, int latent, int block, int most);
  void (*mla_attend)(void* stream, const float* q, int64_t q_stride, int rows, int heads,
                     int latent, float scale, const float* latents, const int32_t* ids,
                     int64_t ids_stride, const int32_t* counts, int most, int block, float* out,
                     int64_t out_stride, float* workspace);

  // indexer.h
  void (*indexer_append)(void* stream, IndexerShape shape, const float* ki, int64_t ki_stride,
                         const float* gs, int64_t gs_stride, const float* ape, int64_t first,
                         int rows, TailView tail, PagedCache cache);
  void (*indexer_queries)(void* stream, IndexerShape shape, const float* q, int64_t q_stride,
                          const float* w, int64_t w_stride, int rows, float* codes,
                          int64_t codes_stride, float* folded, int64_t folded_stride);
  size_t (*indexer_packed_floats)(IndexerShape shape, int pools);
  void (*indexer_load_keys)(void* stream, IndexerShape shape, PagedCache cache, int pools,
                            float* packed);
  void (*indexer_scores)(void* stream, IndexerShape shape, const float* codes, int64_t codes_stride,
                         const float* folded, int64_t folded_stride, int rows, const float* packed,
                         int packed_pools, int pools, int block, float* scores,
                         int64_t score_stride);
  // indexer_topk of every row over the same number of pools; counts[r * counts_stride] gets the
  // number. workspace: pools values rounded up to 8.
  void (*indexer_topk)(void* stream, const float* scores, int64_t score_stride, int rows, int pools,
                       int topk, int32_t* selected, int64_t selected_stride, int32_t* counts,
                       int64_t counts_stride, int32_t* workspace);
  // positions is memory of this side. counts[r * counts_stride]: may be a last column of pools_out.
  size_t (*indexer_select_workspace_floats)(int rows, int packed_pools);
  void (*indexer_select)(void* stream, IndexerShape shape, const float* codes, int64_t codes_stride,
                         const float* folded, int64_t folded_stride, int64_t first,
                         const int64_t* positions, int rows, const float* packed, int packed_pools,
                         int topk, int block, int32_t* pools_out, int64_t pools_stride,
                         int32_t* counts, int64_t counts_stride, float* workspace);
  // indexer_expand of rows at first, first + 1, ... (positions: of any), each with
  // pool_counts[r * pool_counts_stride] pools, to ids + r * ids_stride; counts[r] tokens.
  void (*indexer_expand)(void* stream, const int32_t* pools, int64_t pools_stride,
                         const int32_t* pool_counts, int64_t pool_counts_stride, int64_t first,
                         const int64_t* positions, int rows, int32_t* ids, int64_t ids_stride,
                         int width, int32_t* counts);

  // moe.h
  void (*moe_route)(void* stream, const float* logits, int64_t logits_stride, const float* bias,
                    int rows, int experts, int topk, float scaling, int32_t* ids, float* weights);
  // For expert_mlp (topk = 1) and moe_grouped.
  size_t (*expert_workspace_floats)(ExpertShape shape, int rows, int topk);
  size_t (*moe_workspace_ints)(int rows, int experts, int topk);
  void (*expert_mlp)(void* stream, ExpertShape shape, const float* x, int64_t x_stride, int rows,
                     const float* packed, int block, bool accumulate, float* y, int64_t y_stride,
                     float* workspace);
  void (*moe_grouped)(void* stream, ExpertShape shape, const float* x, int64_t x_stride, int rows,
                      const float* packed, int experts, const int32_t* ids, const float* weights,
                      int topk, int block, float* y, int64_t y_stride, float* workspace,
                      int32_t* int_workspace);
};

const ModelKernels& cpu_model_kernels();

// The symbol that libhitproof_model_cuda.so exports, for dlsym. The library is apart because it
// needs the CUDA runtime's registration calls, which a simulated runtime does not have.
inline constexpr const char* cuda_model_kernels_symbol = "hitproof_model_kernels_cuda";
using CudaModelKernels = const ModelKernels* (*)();

} // namespace hitproof::kernels
