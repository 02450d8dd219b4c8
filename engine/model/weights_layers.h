// Makers of one layer's weights, shared by the stack and the MTP layer. Internal to this room.
#pragma once

#include "engine/model/tensor_source.h"
#include "engine/model/weights.h"

#include <string>

namespace hitproof::engine {

struct LayerMaker {
  const ModelConfig& config;
  const WeightRecipe& recipe;
  TensorSource& source;
  int rank;
  int tp;
};

Projection pack_projection(const float* w, int n, int k);

/// `prefix` is "layers.N.".
KdaWeights make_kda(LayerMaker& maker, const std::string& prefix);
DsaWeights make_dsa(LayerMaker& maker, const std::string& prefix, float output_gain);
FfnWeights make_ffn(LayerMaker& maker, const std::string& prefix, bool dense, float output_gain);

} // namespace hitproof::engine
