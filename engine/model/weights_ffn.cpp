#include "engine/model/weights_layers.h"
#include "kernels/model/moe.h"

#include <cmath>

namespace hitproof::engine {
namespace {

// One gated feed-forward's slice: rows of gate and up, columns of down.
void make_mlp(LayerMaker& maker, const std::string& name, int full_width, float output_gain,
              float* packed) {
  const ModelConfig& c = maker.config;
  const int width = full_width / maker.tp;
  const int first = maker.rank * width;
  const float in_scale = 1.0f / std::sqrt(static_cast<float>(c.hidden));
  const auto slice = [&](const float* w) {
    const float* rows = w + static_cast<ptrdiff_t>(first) * c.hidden;
    return Floats(rows, rows + static_cast<ptrdiff_t>(width) * c.hidden);
  };
  const Floats gate =
      slice(maker.source.normal(name + "gate_proj.weight", full_width, c.hidden, in_scale));
  const Floats up =
      slice(maker.source.normal(name + "up_proj.weight", full_width, c.hidden, in_scale));
  const float* down = maker.source.normal(name + "down_proj.weight", c.hidden, full_width,
                                          output_gain / std::sqrt(static_cast<float>(full_width)));
  const kernels::ExpertShape shape{c.hidden, width, c.swiglu_limit};
  kernels::expert_pack(shape, gate.data(), up.data(), c.hidden, down + first, full_width, packed);
}

} // namespace

FfnWeights make_ffn(LayerMaker& maker, const std::string& prefix, bool dense, float output_gain) {
  const ModelConfig& c = maker.config;
  const std::string at = prefix + "mlp.";
  FfnWeights w;
  w.dense = dense;
  const int width = (dense ? c.dense_width : c.expert_width) / maker.tp;
  const size_t packed = kernels::expert_packed_floats({c.hidden, width, c.swiglu_limit});
  Floats mlp(packed);
  if (dense) {
    make_mlp(maker, at, c.dense_width, output_gain, mlp.data());
    w.mlp = std::move(mlp);
    return w;
  }
  const float in_scale = 1.0f / std::sqrt(static_cast<float>(c.hidden));
  w.router = pack_projection(maker.source.normal(at + "gate.weight", c.experts, c.hidden, in_scale),
                             c.experts, c.hidden);
  const float* correction =
      maker.source.normal(at + "gate.e_score_correction_bias", 1, c.experts, 0.05f);
  w.correction = Floats(correction, correction + c.experts);
  Floats experts(packed * static_cast<size_t>(c.experts));
  for (int e = 0; e < c.experts; ++e) {
    make_mlp(maker, at + "experts." + std::to_string(e) + ".", c.expert_width, output_gain,
             experts.data() + packed * static_cast<size_t>(e));
  }
  w.experts = std::move(experts);
  make_mlp(maker, at + "shared_experts.", c.expert_width, output_gain, mlp.data());
  w.mlp = std::move(mlp);
  return w;
}

} // namespace hitproof::engine
