// The multi-token-prediction layer of one rank: keeps its own caches, proposes the next draft
// (docs/model.md 2.7).
#pragma once

#include "engine/model/dsa_layer.h"
#include "engine/model/ffn_layer.h"
#include "engine/model/sampler.h"
#include "engine/model/scratch.h"

#include <span>
#include <vector>

namespace hitproof::engine {

class MtpLayer {
 public:
  MtpLayer(ModelContext& ctx, DsaLayer& dsa, FfnLayer& ffn, Sampler& sampler)
      : ctx_(ctx), dsa_(dsa), ffn_(ffn), sampler_(sampler) {}

  /// Writes the layer's cache entries of every row of the segments, the accepted ones. next: of own
  /// rows, on the kernels' side, the token after each row's; -1 at position 0. hidden: own rows,
  /// after the final norm.
  void append(const RankWeights& w, const RowGroup& rows, std::span<const Segment> segments,
              const int32_t* next, const float* hidden);

  /// Drafts from the last row of each of these segments. Only those rows go through attention and
  /// experts: nothing later reads what the others would give. last: on the kernels' side, the place
  /// of each such row among the own ones (RowGroup::place).
  std::vector<int32_t> draft(const RankWeights& w, const RowGroup& rows,
                             std::span<const Segment> segments, const int32_t* last);

 private:
  ModelContext& ctx_;
  DsaLayer& dsa_;
  FfnLayer& ffn_;
  Sampler& sampler_;
  Scratch<float> combined_in_, combined_, normed_, chosen_, residual_, ffn_in_, final_, all_final_;
};

} // namespace hitproof::engine
