// From final hidden states to tokens: logits over the sharded vocabulary, greedy choice, ties to
// the lower id.
#pragma once

#include "engine/model/context.h"
#include "engine/model/row_group.h"
#include "engine/model/scratch.h"
#include "engine/model/weights.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace hitproof::engine {

struct Choice {
  int32_t token = 0;
  float margin = 0.0f;                     ///< top-1 minus top-2
  std::array<uint8_t, 32> logits_sha256{}; ///< of the fp32 row over the whole vocabulary
};

class Sampler {
 public:
  explicit Sampler(ModelContext& ctx) : ctx_(ctx) {}

  /// hidden: [rows][hidden], equal on every rank. Both functions wait for the kernels' side.
  std::vector<Choice> choose(const Projection& lm_head, const float* hidden, int rows);
  /// Only the tokens, without gathering the logits.
  std::vector<int32_t> draft(const Projection& lm_head, const float* hidden, int rows);
  /// Logits of row `row` of the last `choose`.
  std::span<const float> logits(int row) const;

 private:
  const float* shard_logits(const Projection& lm_head, const float* hidden, int rows);
  void fetch_logits(const Projection& lm_head, const float* hidden, int rows);

  ModelContext& ctx_;
  Scratch<float> shard_, gathered_, rows_;
  Scratch<kernels::RowBest> best_, all_best_;
  HostScratch<float> logits_; // [rows][vocab]
  HostScratch<kernels::RowBest> candidates_;
};

/// `count` rows of a matrix of which every rank holds its own rows of the group: [count][columns]
/// on every rank. places: on the kernels' side, of each wanted row (RowGroup::place).
const float* share_rows(ModelContext& ctx, const RowGroup& rows, const float* own, int columns,
                        const int32_t* places, int count, Scratch<float>& room);

} // namespace hitproof::engine
