// The rows of a step: which sequence and position each belongs to.
#pragma once

#include "engine/model/context.h"

#include <span>
#include <vector>

namespace hitproof::engine {

struct StepLayout {
  std::vector<Segment> segments;

  int rows() const { return segments.empty() ? 0 : segments.back().row + segments.back().rows; }
};

/// device: the kernels' memory is not the host's. Throws std::logic_error where an input breaks the
/// preconditions of RankModel::step.
StepLayout lay_out(const ModelConfig& config, const CacheGeometry& geometry, bool device,
                   std::span<const SeqInput> inputs);

} // namespace hitproof::engine
