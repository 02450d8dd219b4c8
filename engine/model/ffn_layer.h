// The feed-forward sublayer of one rank: dense, or routed experts and a shared one
// (docs/model.md 2.6).
#pragma once

#include "engine/model/context.h"
#include "engine/model/row_group.h"
#include "engine/model/scratch.h"
#include "engine/model/weights.h"

namespace hitproof::engine {

class FfnLayer {
 public:
  explicit FfnLayer(ModelContext& ctx) : ctx_(ctx) {}

  /// u: own rows of the normalised input. Returns own rows of the output, summed over ranks; valid
  /// until the next call.
  const float* forward(const FfnWeights& w, const RowGroup& rows, const float* u);

 private:
  const float* dense(const FfnWeights& w, const RowGroup& rows, const float* u);
  const float* experts(const FfnWeights& w, const RowGroup& rows, const float* u);

  ModelContext& ctx_;
  Scratch<float> gathered_, packed_, logits_, weights_, partial_, workspace_;
  Scratch<int32_t> ids_, int_workspace_;
};

} // namespace hitproof::engine
