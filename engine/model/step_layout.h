// The rows of a step: which sequence and position each belongs to.
#pragma once

#include "engine/model/context.h"

#include <cstdint>
#include <span>
#include <vector>

namespace hitproof::engine {

struct StepLayout {
  std::vector<Segment> segments;
  std::vector<int32_t> tokens;    ///< of every row
  std::vector<int64_t> positions; ///< of every row

  int rows() const { return static_cast<int>(tokens.size()); }
};

/// Throws std::logic_error where an input breaks the preconditions of RankModel::step.
StepLayout lay_out(const ModelConfig& config, const CacheGeometry& geometry,
                   std::span<const SeqInput> inputs);

} // namespace hitproof::engine
