// A rank's weights, made from a seed and packed for the kernels.
//
// Promises: a tensor's full values depend on (seed, its checkpoint name, the preset's dimensions)
// alone; a rank holds slices of the same full tensors whatever tp is; `digest` is the SHA-256 over
// name, shape and values of every full tensor in checkpoint order, so it is equal on all ranks and
// for every tp.
#pragma once

#include "engine/model/aligned.h"
#include "engine/model/preset.h"

#include <array>
#include <cstdint>
#include <vector>

namespace hitproof::engine {

/// Standard deviations that decide how the synthetic model behaves (study.md, section 2).
struct WeightRecipe {
  float output_gain = 0.08f;     ///< o_proj and down_proj, over sqrt(fan in)
  float query_gain = 2.0f;       ///< q_b_proj and the key half of kv_b_proj
  float self_penalty = 0.55f;    ///< part of a token's own embedding taken out of its lm_head row
  float mtp_state_gain = 0.1f;   ///< hidden half of eh_proj
  float mtp_output_gain = 0.02f; ///< o_proj and down_proj of the MTP layer
  float norm_spread = 0.1f;      ///< norm weights are 1 + spread * normal
  float a_log_spread = 0.0f;     ///< A_log is uniform in +-spread
};

/// The recipe that belongs to a preset.
WeightRecipe recipe_for(const ModelConfig& config);

/// y = W x for W [n][k], packed.
struct Projection {
  int n = 0;
  int k = 0;
  Floats packed;
};

struct HyperWeights {
  Floats fn;    ///< packed
  Floats base;  ///< [24]
  Floats scale; ///< [3]
  Floats norm;  ///< [hidden]
};

struct KdaWeights {
  Projection in;     ///< q | k | v | b | f_a | g_a
  Projection forget; ///< f_b of this rank's heads
  Projection gate;   ///< g_b of this rank's heads
  Projection out;    ///< o_proj, this rank's columns
  Floats conv;       ///< [4][3 * heads * dim]
  Floats a_exp;      ///< [heads]
  Floats dt_bias;    ///< [heads * dim]
  Floats out_norm;   ///< [dim]
};

struct DsaWeights {
  Projection down;        ///< q_a | kv_a | wk | gate | weights_proj, replicated
  Projection query;       ///< W_UK^T q_b of this rank's heads: q_lora -> [heads][latent]
  Projection out;         ///< o_proj W_UV of this rank's heads: [heads][latent] -> hidden
  Projection index_query; ///< wq_b, replicated
  Floats q_norm, kv_norm, key_norm, key_bias;
  Floats ape; ///< [4][index_dim]
};

struct FfnWeights {
  bool dense = false;
  Floats mlp; ///< dense feed-forward, or the shared expert
  Projection router;
  Floats correction; ///< [experts]
  Floats experts;
};

struct LayerWeights {
  HyperWeights attention_site, ffn_site;
  KdaWeights kda; ///< empty in a DSA layer
  DsaWeights dsa; ///< empty in a KDA layer
  FfnWeights ffn;
};

struct MtpWeights {
  Floats embedding_norm, hidden_norm, input_norm, ffn_norm, head_norm;
  Projection combine; ///< eh_proj
  DsaWeights dsa;
  FfnWeights ffn;
};

struct RankWeights {
  Floats embedding; ///< [vocab][hidden], replicated
  Floats norm;
  Projection lm_head; ///< this rank's vocabulary
  std::vector<LayerWeights> layers;
  MtpWeights mtp;
  std::array<uint8_t, 32> digest{};
};

RankWeights make_weights(const ModelConfig& config, const WeightRecipe& recipe, uint64_t seed,
                         int rank, int tp);

} // namespace hitproof::engine
