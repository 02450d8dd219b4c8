#include "engine/model/weights.h"

#include "engine/model/tensor_source.h"
#include "engine/model/weights_layers.h"
#include "kernels/model/mhc.h"
#include "kernels/model/small_gemm.h"

#include <cmath>

namespace hitproof::engine {
namespace {

float inverse_sqrt(int n) { return 1.0f / std::sqrt(static_cast<float>(n)); }

// Pre-mapping biases differ between streams, so that the streams do not stay copies of each other.
HyperWeights make_site(TensorSource& source, const ModelConfig& c, const std::string& prefix,
                       const std::string& norm_name, float norm_spread) {
  HyperWeights w;
  const int inputs = c.streams * c.hidden;
  const float* fn = source.normal(prefix + "_fn", 24, inputs, 0.5f * inverse_sqrt(inputs));
  Floats packed(kernels::mhc_packed_floats(c.hidden));
  kernels::mhc_pack_fn(fn, c.hidden, packed.data());
  w.fn = std::move(packed);

  float* base = source.draft(prefix + "_base", 1, 24, 0.0f);
  for (int i = 0; i < 4; ++i)
    base[i] = -0.45f + 0.3f * static_cast<float>(i);
  for (int i = 4; i < 24; ++i)
    base[i] = 0.0f;
  for (int i = 0; i < 4; ++i)
    base[8 + 5 * i] = 3.0f;
  source.seal(prefix + "_base", 1, 24);
  w.base = Floats(base, base + 24);
  const float* scale = source.filled(prefix + "_scale", 1, 3, 1.0f);
  w.scale = Floats(scale, scale + 3);
  const float* norm = source.around_one(norm_name, c.hidden, norm_spread);
  w.norm = Floats(norm, norm + c.hidden);
  return w;
}

Floats make_norm(TensorSource& source, const std::string& name, int n, float spread) {
  const float* values = source.around_one(name, n, spread);
  return Floats(values, values + n);
}

MtpWeights make_mtp(LayerMaker& maker) {
  const ModelConfig& c = maker.config;
  const WeightRecipe& recipe = maker.recipe;
  TensorSource& source = maker.source;
  const std::string layer = "layers." + std::to_string(ModelConfig::mtp_layer) + ".";
  MtpWeights w;
  w.embedding_norm = make_norm(source, layer + "enorm.weight", c.hidden, recipe.norm_spread);
  w.hidden_norm = make_norm(source, layer + "hnorm.weight", c.hidden, recipe.norm_spread);
  // The embedding passes through and the hidden state is a small addition: then the draft resembles
  // the next main step often enough to be accepted, and differs often enough to be rejected.
  float* combine = source.draft(layer + "eh_proj.weight", c.hidden, 2 * c.hidden,
                                recipe.mtp_state_gain * inverse_sqrt(c.hidden));
  for (int i = 0; i < c.hidden; ++i)
    combine[static_cast<size_t>(i) * static_cast<size_t>(2 * c.hidden) + static_cast<size_t>(i)] +=
        1.0f;
  w.combine = pack_projection(source.seal(layer + "eh_proj.weight", c.hidden, 2 * c.hidden),
                              c.hidden, 2 * c.hidden);
  w.input_norm = make_norm(source, layer + "input_layernorm.weight", c.hidden, recipe.norm_spread);
  w.dsa = make_dsa(maker, layer, recipe.mtp_output_gain);
  w.ffn_norm =
      make_norm(source, layer + "post_attention_layernorm.weight", c.hidden, recipe.norm_spread);
  w.ffn = make_ffn(maker, layer, false, recipe.mtp_output_gain);
  w.head_norm = make_norm(source, layer + "shared_head.norm.weight", c.hidden, recipe.norm_spread);
  return w;
}

} // namespace

WeightRecipe recipe_for(const ModelConfig& config) {
  WeightRecipe recipe;
  if (config.exact()) {
    // Reference comparisons must see every parameter at work; their vectors were made with these
    // two.
    recipe.a_log_spread = 0.5f;
    recipe.self_penalty = 0.5f;
  }
  return recipe;
}

Projection pack_projection(const float* w, int n, int k) {
  Projection p;
  p.n = n;
  p.k = k;
  Floats packed(kernels::gemm_packed_floats(n, k));
  kernels::gemm_pack(w, k, n, k, packed.data());
  p.packed = std::move(packed);
  return p;
}

RankWeights make_weights(const ModelConfig& c, const WeightRecipe& recipe, uint64_t seed, int rank,
                         int tp) {
  TensorSource source(seed);
  LayerMaker maker{c, recipe, source, rank, tp};
  RankWeights w;

  const auto hidden = static_cast<size_t>(c.hidden);
  const size_t cells = static_cast<size_t>(c.vocab) * hidden;
  const float* made = source.normal("embed_tokens.weight", c.vocab, c.hidden, 1.0f);
  Floats embedding(made, made + cells);
  // A row points away from its own token's embedding: the model does not repeat its input for ever.
  const float head_scale = inverse_sqrt(c.hidden);
  float* head = source.draft("lm_head.weight", c.vocab, c.hidden, head_scale);
  const float penalty = recipe.self_penalty * head_scale;
  for (size_t i = 0; i < cells; ++i)
    head[i] -= penalty * embedding[i];
  w.embedding = std::move(embedding);
  source.seal("lm_head.weight", c.vocab, c.hidden);
  const int shard = c.vocab / tp;
  w.lm_head = pack_projection(head + static_cast<size_t>(rank * shard) * hidden, shard, c.hidden);
  w.norm = make_norm(source, "norm.weight", c.hidden, recipe.norm_spread);

  w.layers.resize(static_cast<size_t>(c.layers));
  for (int l = 0; l < c.layers; ++l) {
    LayerWeights& layer = w.layers[static_cast<size_t>(l)];
    const std::string prefix = "layers." + std::to_string(l) + ".";
    layer.attention_site = make_site(source, c, prefix + "hc_attn",
                                     prefix + "input_layernorm.weight", recipe.norm_spread);
    if (c.is_dsa(l)) {
      layer.dsa = make_dsa(maker, prefix, recipe.output_gain);
    } else {
      layer.kda = make_kda(maker, prefix);
    }
    layer.ffn_site = make_site(source, c, prefix + "hc_ffn",
                               prefix + "post_attention_layernorm.weight", recipe.norm_spread);
    layer.ffn = make_ffn(maker, prefix, l < c.dense_layers, recipe.output_gain);
  }
  w.mtp = make_mtp(maker);
  w.digest = source.digest();
  return w;
}

} // namespace hitproof::engine
