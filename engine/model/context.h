// What every part of the forward pass shares. Internal to this room.
#pragma once

#include "engine/model/geometry.h"
#include "engine/model/preset.h"
#include "engine/model/rank_model.h"
#include "engine/runtime/collectives.h"
#include "kernels/model/profile.h"
#include "kernels/model/table.h"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

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
  const kernels::ModelKernels& kernels;
  void* stream;
  CacheMemory memory; ///< of the kernels' side
  Collectives& collectives;
  ChoicesInForce choices;
  bool contiguous_tail_writes = false;

  /// Waits until the host may read what was copied to it. Throws CollectiveError where a collective
  /// could not finish, std::runtime_error where a kernel or a copy has failed.
  void synchronize() const { require(kernels.synchronize(stream)); }
  /// Throws as synchronize does, without waiting.
  void check() const { require(kernels.error()); }

 private:
  void require(const char* error) const {
    collectives.check(); // the cause, where both have something to say
    if (error != nullptr)
      throw std::runtime_error(std::string(kernels.name) + " kernels: " + error);
  }
};

/// Rows [row, row + rows) of the step belong to one sequence, at positions start, start + 1, ...
struct Segment {
  int input = 0; ///< index into the step's inputs
  int row = 0;
  int rows = 0;
  int64_t start = 0;
  bool prefill = false;
  const int32_t* tokens = nullptr;      ///< memory of the kernels' side
  const int32_t* attn_blocks = nullptr; ///< memory of the kernels' side
  int32_t tail_block = 0;
  const StateSlots* state = nullptr;
};

} // namespace hitproof::engine
