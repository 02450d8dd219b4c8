#include "engine/model/matmul.h"
#include "engine/model/weights_layers.h"
#include "kernels/model/small_gemm.h"

#include <cmath>

namespace hitproof::engine {
namespace {

Floats transposed(const float* x, int rows, int cols) {
  Floats out(static_cast<size_t>(rows) * static_cast<size_t>(cols));
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c)
      out[static_cast<size_t>(c) * static_cast<size_t>(rows) + static_cast<size_t>(r)] =
          x[static_cast<ptrdiff_t>(r) * cols + c];
  }
  return out;
}

Floats copy(const float* values, int n) { return Floats(values, values + n); }

} // namespace

// W_UK is folded into q_b and W_UV into o_proj: the absorbed form of attention with one product on
// either side instead of two. Only rounding differs. The folding itself is the largest product
// there is: libtorch makes it.
DsaWeights make_dsa(LayerMaker& maker, const std::string& prefix, float output_gain) {
  const ModelConfig& c = maker.config;
  TensorSource& source = maker.source;
  const std::string at = prefix + "self_attn.";
  const int heads = c.mla_heads / maker.tp;
  const int first_head = maker.rank * heads;
  const float in_scale = 1.0f / std::sqrt(static_cast<float>(c.hidden));
  const float lora_scale = 1.0f / std::sqrt(static_cast<float>(c.q_lora));
  const float latent_scale = 1.0f / std::sqrt(static_cast<float>(c.latent));

  DsaWeights w;
  w.down.n = c.q_lora + c.latent + 2 * c.index_dim + c.index_heads;
  w.down.k = c.hidden;
  Floats down(kernels::gemm_packed_floats(w.down.n, w.down.k));
  int packed_rows = 0;
  const auto pack = [&](const float* rows, int count) {
    kernels::gemm_pack_rows(rows, c.hidden, w.down.n, c.hidden, packed_rows, count, down.data());
    packed_rows += count;
  };
  pack(source.normal(at + "q_a_proj.weight", c.q_lora, c.hidden, in_scale), c.q_lora);
  pack(source.normal(at + "kv_a_proj_with_mqa.weight", c.latent, c.hidden, in_scale), c.latent);
  pack(source.normal(at + "indexer.wk.weight", c.index_dim, c.hidden, in_scale), c.index_dim);
  pack(source.normal(at + "indexer.index_kpool_compress_gate", c.index_dim, c.hidden, in_scale),
       c.index_dim);
  pack(source.normal(at + "indexer.weights_proj.weight", c.index_heads, c.hidden, in_scale),
       c.index_heads);
  w.down.packed = std::move(down);

  w.q_norm = copy(
      source.around_one(at + "q_a_layernorm.weight", c.q_lora, maker.recipe.norm_spread), c.q_lora);
  w.kv_norm =
      copy(source.around_one(at + "kv_a_layernorm.weight", c.latent, maker.recipe.norm_spread),
           c.latent);
  w.key_norm =
      copy(source.around_one(at + "indexer.k_norm.weight", c.index_dim, maker.recipe.norm_spread),
           c.index_dim);
  w.key_bias =
      copy(source.normal(at + "indexer.k_norm.bias", 1, c.index_dim, maker.recipe.norm_spread),
           c.index_dim);
  w.ape = copy(source.normal(at + "indexer.index_kpool_compress_ape", c.pool, c.index_dim, 0.5f),
               c.pool * c.index_dim);
  w.index_query = pack_projection(
      source.normal(at + "indexer.wq_b.weight", c.index_heads * c.index_dim, c.q_lora, lora_scale),
      c.index_heads * c.index_dim, c.q_lora);

  const int head_rows = 2 * c.mla_dim;
  float* kv =
      source.draft(at + "kv_b_proj.weight", c.mla_heads * head_rows, c.latent, latent_scale);
  for (int h = 0; h < c.mla_heads; ++h) {
    float* keys = kv + static_cast<ptrdiff_t>(h) * head_rows * c.latent;
    for (int i = 0; i < c.mla_dim * c.latent; ++i)
      keys[i] *= maker.recipe.query_gain;
  }
  source.seal(at + "kv_b_proj.weight", c.mla_heads * head_rows, c.latent);
  const float* own_kv = kv + static_cast<ptrdiff_t>(first_head) * head_rows * c.latent;
  const Floats up = copy(own_kv, heads * head_rows * c.latent);

  const float* q_b = source.normal(at + "q_b_proj.weight", c.mla_heads * c.mla_dim, c.q_lora,
                                   maker.recipe.query_gain * lora_scale);
  Floats folded(static_cast<size_t>(heads * c.latent * c.q_lora));
  for (int h = 0; h < heads; ++h) {
    const Floats keys = transposed(up.data() + static_cast<ptrdiff_t>(h) * head_rows * c.latent,
                                   c.mla_dim, c.latent);
    const Floats query = transposed(
        q_b + static_cast<ptrdiff_t>(first_head + h) * c.mla_dim * c.q_lora, c.mla_dim, c.q_lora);
    large_matmul(keys.data(), c.mla_dim, c.latent, query.data(), c.q_lora, c.mla_dim,
                 folded.data() + static_cast<ptrdiff_t>(h) * c.latent * c.q_lora, c.q_lora);
  }
  w.query = pack_projection(folded.data(), heads * c.latent, c.q_lora);

  const int full = c.mla_heads * c.mla_dim;
  const float* out = source.normal(at + "o_proj.weight", c.hidden, full,
                                   output_gain / std::sqrt(static_cast<float>(full)));
  const int columns = heads * c.latent;
  Floats folded_out(static_cast<size_t>(c.hidden) * static_cast<size_t>(columns));
  for (int h = 0; h < heads; ++h) {
    const Floats values =
        transposed(up.data() + (static_cast<ptrdiff_t>(h) * head_rows + c.mla_dim) * c.latent,
                   c.mla_dim, c.latent);
    large_matmul(out + static_cast<ptrdiff_t>(first_head + h) * c.mla_dim, full, c.hidden,
                 values.data(), c.latent, c.mla_dim,
                 folded_out.data() + static_cast<ptrdiff_t>(h) * c.latent, columns);
  }
  w.out = pack_projection(folded_out.data(), c.hidden, columns);
  return w;
}

} // namespace hitproof::engine
