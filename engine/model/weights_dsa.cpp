#include <cmath>
#include <vector>

#include "engine/model/weights_layers.h"
#include "kernels/model/small_gemm.h"

namespace hitproof::engine {
namespace {

// product[n][m] = sum_i a[i][n] * b[i][m] over `inner` rows; summed in double, rounded once.
void transposed_product(const float* a, int lda, int n, const float* b, int ldb, int m, int inner, float* product) {
  std::vector<double> row(static_cast<size_t>(m));
  for (int r = 0; r < n; ++r) {
    std::fill(row.begin(), row.end(), 0.0);
    for (int i = 0; i < inner; ++i) {
      const double x = a[static_cast<ptrdiff_t>(i) * lda + r];
      for (int j = 0; j < m; ++j) row[static_cast<size_t>(j)] += x * b[static_cast<ptrdiff_t>(i) * ldb + j];
    }
    for (int j = 0; j < m; ++j) product[static_cast<ptrdiff_t>(r) * m + j] = static_cast<float>(row[static_cast<size_t>(j)]);
  }
}

Floats copy(const float* values, int n) { return Floats(values, values + n); }

}  // namespace

// W_UK is folded into q_b and W_UV into o_proj: the absorbed form of attention with one product on either side
// instead of two. Only rounding differs.
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
  w.down.packed.resize(kernels::gemm_packed_floats(w.down.n, w.down.k));
  int packed_rows = 0;
  const auto pack = [&](const float* rows, int count) {
    kernels::gemm_pack_rows(rows, c.hidden, w.down.n, c.hidden, packed_rows, count, w.down.packed.data());
    packed_rows += count;
  };
  pack(source.normal(at + "q_a_proj.weight", c.q_lora, c.hidden, in_scale), c.q_lora);
  pack(source.normal(at + "kv_a_proj_with_mqa.weight", c.latent, c.hidden, in_scale), c.latent);
  pack(source.normal(at + "indexer.wk.weight", c.index_dim, c.hidden, in_scale), c.index_dim);
  pack(source.normal(at + "indexer.index_kpool_compress_gate", c.index_dim, c.hidden, in_scale), c.index_dim);
  pack(source.normal(at + "indexer.weights_proj.weight", c.index_heads, c.hidden, in_scale), c.index_heads);

  w.q_norm = copy(source.around_one(at + "q_a_layernorm.weight", c.q_lora, maker.recipe.norm_spread), c.q_lora);
  w.kv_norm = copy(source.around_one(at + "kv_a_layernorm.weight", c.latent, maker.recipe.norm_spread), c.latent);
  w.key_norm = copy(source.around_one(at + "indexer.k_norm.weight", c.index_dim, maker.recipe.norm_spread), c.index_dim);
  w.key_bias = copy(source.normal(at + "indexer.k_norm.bias", 1, c.index_dim, maker.recipe.norm_spread), c.index_dim);
  w.ape = copy(source.normal(at + "indexer.index_kpool_compress_ape", c.pool, c.index_dim, 0.5f), c.pool * c.index_dim);
  w.index_query = pack_projection(source.normal(at + "indexer.wq_b.weight", c.index_heads * c.index_dim, c.q_lora, lora_scale),
                                  c.index_heads * c.index_dim, c.q_lora);

  const int head_rows = 2 * c.mla_dim;
  float* kv = source.draft(at + "kv_b_proj.weight", c.mla_heads * head_rows, c.latent, latent_scale);
  for (int h = 0; h < c.mla_heads; ++h) {
    float* keys = kv + static_cast<ptrdiff_t>(h) * head_rows * c.latent;
    for (int i = 0; i < c.mla_dim * c.latent; ++i) keys[i] *= maker.recipe.query_gain;
  }
  source.seal(at + "kv_b_proj.weight", c.mla_heads * head_rows, c.latent);
  const float* own_kv = kv + static_cast<ptrdiff_t>(first_head) * head_rows * c.latent;
  const Floats up = copy(own_kv, heads * head_rows * c.latent);

  const float* q_b = source.normal(at + "q_b_proj.weight", c.mla_heads * c.mla_dim, c.q_lora, maker.recipe.query_gain * lora_scale);
  Floats folded(static_cast<size_t>(heads * c.latent * c.q_lora));
  for (int h = 0; h < heads; ++h) {
    const float* keys = up.data() + static_cast<ptrdiff_t>(h) * head_rows * c.latent;
    const float* query = q_b + static_cast<ptrdiff_t>(first_head + h) * c.mla_dim * c.q_lora;
    transposed_product(keys, c.latent, c.latent, query, c.q_lora, c.q_lora, c.mla_dim,
                       folded.data() + static_cast<ptrdiff_t>(h) * c.latent * c.q_lora);
  }
  w.query = pack_projection(folded.data(), heads * c.latent, c.q_lora);

  const int full = c.mla_heads * c.mla_dim;
  const float* out = source.normal(at + "o_proj.weight", c.hidden, full, output_gain / std::sqrt(static_cast<float>(full)));
  // product[hidden][latent] of head h = o_proj[:, head] W_UV[head]; transposed_product wants o_proj's columns as rows.
  Floats columns(static_cast<size_t>(c.mla_dim * c.hidden));
  Floats product(static_cast<size_t>(c.hidden * c.latent));
  Floats folded_out(static_cast<size_t>(c.hidden * heads * c.latent));
  for (int h = 0; h < heads; ++h) {
    for (int i = 0; i < c.mla_dim; ++i) {
      for (int d = 0; d < c.hidden; ++d) {
        columns[static_cast<size_t>(i * c.hidden + d)] = out[static_cast<ptrdiff_t>(d) * full + (first_head + h) * c.mla_dim + i];
      }
    }
    const float* values = up.data() + (static_cast<ptrdiff_t>(h) * head_rows + c.mla_dim) * c.latent;
    transposed_product(columns.data(), c.hidden, c.hidden, values, c.latent, c.latent, c.mla_dim, product.data());
    for (int d = 0; d < c.hidden; ++d) {
      for (int l = 0; l < c.latent; ++l) {
        folded_out[static_cast<size_t>((d * heads + h) * c.latent + l)] = product[static_cast<size_t>(d * c.latent + l)];
      }
    }
  }
  w.out = pack_projection(folded_out.data(), c.hidden, heads * c.latent);
  return w;
}

}  // namespace hitproof::engine
