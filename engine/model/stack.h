// The 45 layers of one rank with their residual streams (docs/model.md 2.1 and 2.2).
#pragma once

#include "engine/model/dsa_layer.h"
#include "engine/model/ffn_layer.h"
#include "engine/model/kda_layer.h"
#include "engine/model/scratch.h"
#include "engine/model/step_layout.h"

#include <span>

namespace hitproof::engine {

class Stack {
 public:
  Stack(ModelContext& ctx, KdaLayer& kda, DsaLayer& dsa, FfnLayer& ffn)
      : ctx_(ctx), kda_(kda), dsa_(dsa), ffn_(ffn) {}

  /// Own rows of the hidden states after the final norm; valid until the next call.
  const float* forward(const RankWeights& w, const RowGroup& rows, const StepLayout& layout);

 private:
  void embed(const RankWeights& w, const RowGroup& rows, std::span<const Segment> segments,
             float* embedded);

  ModelContext& ctx_;
  KdaLayer& kda_;
  DsaLayer& dsa_;
  FfnLayer& ffn_;
  Scratch<float> embedded_, streams_, mix_, input_, hidden_;
};

} // namespace hitproof::engine
