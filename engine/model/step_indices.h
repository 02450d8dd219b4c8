// Small index arrays of a step on their way to the kernels' side. Internal to this room.
#pragma once

#include "engine/model/scratch.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace hitproof::engine {

class StepIndices {
 public:
  explicit StepIndices(const ModelContext& ctx) : ctx_(ctx) {}

  /// A new step with at most so many values over all its arrays; those of the last step are void.
  /// Waits for copies that have not run yet: their source is overwritten now.
  void begin(size_t most) {
    if (used_ > 0) ctx_.synchronize();
    used_ = 0;
    host_.get(ctx_, most);
    side_.get(ctx_, most);
  }

  /// The values in memory of the kernels' side.
  const int32_t* put(std::span<const int32_t> values) {
    const size_t at = used_;
    std::copy(values.begin(), values.end(), host_.data() + at);
    used_ += values.size();
    ctx_.kernels.to_device(ctx_.stream, side_.data() + at, host_.data() + at, values.size_bytes());
    return side_.data() + at;
  }

 private:
  const ModelContext& ctx_;
  HostScratch<int32_t> host_;
  Scratch<int32_t> side_;
  size_t used_ = 0;
};

} // namespace hitproof::engine
