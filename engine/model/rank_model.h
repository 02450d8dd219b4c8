// One rank's share of the whole model: a step over several sequences, prefill and decode mixed.
//
// Promises: greedy decoding (ties to the lower id), one draft token. Every rank of a step gets the
// same SeqOutput. Two runs of one schedule agree bit for bit; the bits of a row do not depend on
// the other sequences of its step. Everything that later tokens need of earlier ones is in the
// cache pages: continuing from pages equals having computed on, bit for bit where the steps end at
// the same positions. Errors: the constructor throws std::invalid_argument for dimensions or a
// profile that do not fit; step throws std::logic_error for an input that breaks the preconditions
// below.
#pragma once

#include "engine/model/geometry.h"
#include "engine/model/preset.h"
#include "engine/model/profile.h"
#include "engine/runtime/collectives.h"
#include "kernels/model/table.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hitproof::engine {

/// State blocks of one state group.
struct StateSlots {
  int32_t in = 0; ///< block to start from; 0 = fresh zero state
  int32_t out[2] = {
      0, 0}; ///< out[i]: gets the state after token i; a prefill chunk writes out[0] at its end
};

struct SeqInput {
  uint64_t request = 0;
  int32_t start = 0;               ///< position of tokens[0]
  std::span<const int32_t> tokens; ///< decode: {last sampled} or {last sampled, draft}
  bool last_is_draft = false;
  int32_t next_token = -1; ///< prefill: token after the chunk where the prompt has it, else -1
  bool prefill = false;
  std::span<const int32_t> attn_blocks; ///< block of positions [i C, (i+1) C)
  /// The two spans' values in memory of the kernels' side; null: the host's serves, where the
  /// kernels are the CPU's.
  const int32_t* tokens_device = nullptr;
  const int32_t* attn_blocks_device = nullptr;
  int32_t tail_block = 0;
  StateSlots state[num_state_groups];
};

struct SeqOutput {
  int accepted = 0; ///< tokens whose computation stands: 1 or 2; prefill: all of them
  std::vector<int32_t>
      sampled; ///< newly decided tokens; none for a prefill chunk inside the prompt
  std::vector<std::array<uint8_t, 32>>
      logits_sha256;         ///< one a sampled token, over the fp32 logits row
  std::vector<float> margin; ///< top-1 minus top-2 logit, one a sampled token
  int32_t draft = -1;        ///< proposed token after the last sampled one; -1: none
};

class RankModel {
 public:
  /// `memory`, `collectives` and `kernels` outlive the model; the first two are of the kernels'
  /// side, and collectives enqueue on `stream`. Threads that build, step or destroy the model are
  /// bound to the device (kernels.bind). Block 0 is never read or written.
  RankModel(const ModelConfig& config, const CacheGeometry& geometry, const KernelProfile& profile,
            uint64_t weight_seed, int rank, int tp, Collectives& collectives, CacheMemory memory,
            const kernels::ModelKernels& kernels = kernels::cpu_model_kernels(),
            void* stream = nullptr);
  ~RankModel();
  RankModel(const RankModel&) = delete;
  RankModel& operator=(const RankModel&) = delete;

  /// Computes inputs[i] into outputs[i], which are complete on return. Sequences must not share
  /// blocks that the step writes. On a device the work on cache pages is enqueued on the stream in
  /// order and may still run on return; what the inputs' device pointers name stays until it has.
  /// Throws std::runtime_error where a kernel, a copy or a collective has failed.
  void step(std::span<const SeqInput> inputs, std::span<SeqOutput> outputs);

  /// Throws as step does, for what has run since: to be asked once the stream was waited for.
  void check() const;

  /// The seven choices that the kernels really ran with; a choice not exercised yet has an empty
  /// value.
  KernelProfile profile_used() const;

  /// SHA-256 over names, shapes and values of all full tensors: equal on all ranks and for every
  /// tp.
  std::array<uint8_t, 32> weights_sha256() const;

  /// Tokens that the recurrence has folded into a state block, counted by the model itself from the
  /// block it started from; -1 where the block was never written. After a load say what was loaded.
  int64_t folded_tokens(int state_group, int block) const;
  void set_folded_tokens(int state_group, int block, int64_t tokens);

  /// Test aid (--break tail-contiguous-write): tails are written at base + block * content bytes.
  void break_tail_writes(bool on);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace hitproof::engine
