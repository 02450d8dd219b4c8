// What every part of the forward pass shares. Internal to this room.
#pragma once

#include "engine/model/geometry.h"
#include "engine/model/preset.h"
#include "engine/model/rank_model.h"
#include "engine/runtime/collectives.h"
#include "kernels/model/profile.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace hitproof::engine {

/// The profile in force, which notes every choice at the moment a kernel takes it.
class ChoicesInForce {
 public:
  explicit ChoicesInForce(const kernels::KernelProfile& profile) : profile_(profile) {}

  int use(int kernels::KernelProfile::*member) {
    used_.*member = profile_.*member;
    return profile_.*member;
  }
  const kernels::KernelProfile& used() const { return used_; }
  static constexpr int not_used = -1;

 private:
  kernels::KernelProfile profile_;
  kernels::KernelProfile used_{not_used, not_used, not_used, not_used,
                               not_used, not_used, not_used};
};

struct ModelContext {
  const ModelConfig& config;
  const CacheGeometry& geometry;
  CacheMemory memory;
  Collectives& collectives;
  ChoicesInForce choices;
  bool contiguous_tail_writes = false;
};

/// Rows [row, row + rows) of the step belong to one sequence, at positions start, start + 1, ...
struct Segment {
  int input = 0; ///< index into the step's inputs
  int row = 0;
  int rows = 0;
  int64_t start = 0;
  bool prefill = false;
  std::span<const int32_t> attn_blocks;
  int32_t tail_block = 0;
  const StateSlots* state = nullptr;
};

} // namespace hitproof::engine
