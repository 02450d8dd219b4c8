// A rank's weights, made from a seed and packed for the kernels.
//
// Promises: a tensor's full values depend on (seed, its checkpoint name, the preset's dimensions)
// alone; a rank holds slices of the same full tensors whatever tp is; `digest` is the SHA-256 over
// name, shape and values of every full tensor in checkpoint order, so it is equal on all ranks and
// for every tp.
#pragma once

#include "engine/model/aligned.h"
#include "engine/model/preset.h"
#include "engine/model/side_memory.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace hitproof::engine {

/// Standard deviations that decide how the synthetic model behaves (docs/studies.md, section 7;
/// values in docs/model.md 3.1).
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

/// An array of weights: made in host memory, read by the kernels after place_weights.
class WeightArray {
 public:
  WeightArray() = default;
  WeightArray(Floats values) : host_(std::move(values)) {}

  const float* data() const { return side_ != nullptr ? side_ : host_.data(); }
  size_t bytes() const { return host_.size() * sizeof(float); }
  void read_from(const float* side) {
    side_ = side;
    host_ = {};
  }

 private:
  Floats host_;
  const float* side_ = nullptr;
};

/// y = W x for W [n][k], packed.
struct Projection {
  int n = 0;
  int k = 0;
  WeightArray packed;
};

struct HyperWeights {
  WeightArray fn;    ///< packed
  WeightArray base;  ///< [24]
  WeightArray scale; ///< [3]
  WeightArray norm;  ///< [hidden]
};

struct KdaWeights {
  Projection in;        ///< q | k | v | b | f_a | g_a
  Projection forget;    ///< f_b of this rank's heads
  Projection gate;      ///< g_b of this rank's heads
  Projection out;       ///< o_proj, this rank's columns
  WeightArray conv;     ///< [4][3 * heads * dim]
  WeightArray a_exp;    ///< [heads]
  WeightArray dt_bias;  ///< [heads * dim]
  WeightArray out_norm; ///< [dim]
};

struct DsaWeights {
  Projection down;        ///< q_a | kv_a | wk | gate | weights_proj, replicated
  Projection query;       ///< W_UK^T q_b of this rank's heads: q_lora -> [heads][latent]
  Projection out;         ///< o_proj W_UV of this rank's heads: [heads][latent] -> hidden
  Projection index_query; ///< wq_b, replicated
  WeightArray q_norm, kv_norm, key_norm, key_bias;
  WeightArray ape; ///< [4][index_dim]
};

struct FfnWeights {
  bool dense = false;
  WeightArray mlp; ///< dense feed-forward, or the shared expert
  Projection router;
  WeightArray correction; ///< [experts]
  WeightArray experts;
};

struct LayerWeights {
  HyperWeights attention_site, ffn_site;
  KdaWeights kda; ///< empty in a DSA layer
  DsaWeights dsa; ///< empty in a KDA layer
  FfnWeights ffn;
};

struct MtpWeights {
  WeightArray embedding_norm, hidden_norm, input_norm, ffn_norm, head_norm;
  Projection combine; ///< eh_proj
  DsaWeights dsa;
  FfnWeights ffn;
};

struct RankWeights {
  WeightArray embedding; ///< [vocab][hidden], replicated
  WeightArray norm;
  Projection lm_head; ///< this rank's vocabulary
  std::vector<LayerWeights> layers;
  MtpWeights mtp;
  std::array<uint8_t, 32> digest{};
  SideMemory memory; ///< of all arrays, where the kernels' side is not the host
};

RankWeights make_weights(const ModelConfig& config, const WeightRecipe& recipe, uint64_t seed,
                         int rank, int tp);

/// Moves every array into memory of the kernels' side, which for the CPU's they are in already.
/// Waits for the copies. Throws std::runtime_error without room or where a copy fails.
void place_weights(RankWeights& weights, const kernels::ModelKernels& kernels, void* stream);

} // namespace hitproof::engine
