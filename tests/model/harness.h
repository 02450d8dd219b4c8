// A whole engine in one process for the model's tests: ranks as threads, memory as plain arrays, no
// scheduler.
#pragma once

#include "engine/model/rank_model.h"
#include "engine/model/side_memory.h"

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hitproof::engine::testing {

/// Where an engine's kernels run: the CPU, or a device with one stream a rank.
struct TestSide {
  const kernels::ModelKernels* kernels = &kernels::cpu_model_kernels();
  std::vector<void*> streams; ///< empty: the default stream for every rank

  void* stream(int rank) const {
    return streams.empty() ? nullptr : streams[static_cast<size_t>(rank)];
  }
};

/// The table of the library that HITPROOF_MODEL_KERNELS names; null where it names none. Throws
/// where the library does not give one.
const kernels::ModelKernels* kernels_of_environment();

/// The 24 regions of one rank.
class RankMemory {
 public:
  RankMemory(const CacheGeometry& geometry, int blocks,
             const kernels::ModelKernels& kernels = kernels::cpu_model_kernels(),
             void* stream = nullptr);
  CacheMemory view() const { return view_; }
  /// Everything that the regions hold.
  std::vector<std::byte> content() const;

 private:
  const kernels::ModelKernels& kernels_;
  void* stream_;
  std::vector<SideMemory> regions_;
  CacheMemory view_;
};

/// Collectives between threads, summed in rank order.
class ThreadGroup {
 public:
  explicit ThreadGroup(int size);
  Collectives& rank(int r) { return *members_[static_cast<size_t>(r)]; }

 private:
  class Member;
  std::vector<const void*> posted_;
  std::barrier<> barrier_;
  std::vector<std::unique_ptr<Collectives>> members_;
};

/// Collectives over memory of a device, by way of the host.
std::unique_ptr<Collectives> staged_collectives(Collectives& host,
                                                const kernels::ModelKernels& kernels, void* stream);

class TestEngine {
 public:
  TestEngine(const ModelConfig& config, int tp, uint64_t seed, int blocks,
             const KernelProfile& profile = KernelProfile::recorded(), const TestSide& side = {});
  ~TestEngine();

  /// Runs all ranks; throws where they disagree on an output.
  std::vector<SeqOutput> step(std::span<const SeqInput> inputs);

  RankModel& model(int rank) { return *models_[static_cast<size_t>(rank)]; }
  CacheMemory memory(int rank) const { return memories_[static_cast<size_t>(rank)]->view(); }
  std::vector<std::byte> memory_content(int rank) const {
    return memories_[static_cast<size_t>(rank)]->content();
  }
  const CacheGeometry& geometry() const { return geometry_; }
  const ModelConfig& config() const { return config_; }
  int take_block() { return next_block_++; }

 private:
  class SideInputs;
  void step_rank(int rank, std::span<const SeqInput> inputs, std::span<SeqOutput> outputs);

  ModelConfig config_;
  CacheGeometry geometry_;
  TestSide side_;
  ThreadGroup group_;
  std::vector<std::unique_ptr<Collectives>> staged_; ///< on a device
  std::vector<std::unique_ptr<SideInputs>> inputs_;  ///< on a device, of each rank's last step
  std::vector<std::unique_ptr<RankMemory>> memories_;
  std::vector<std::unique_ptr<RankModel>> models_;
  int next_block_ = 1;
};

/// A request driven by hand: keeps its blocks and what was decided so far.
class TestRequest {
 public:
  TestRequest(TestEngine& engine, std::vector<int32_t> prompt);

  /// The next chunk, up to position `end` of the prompt, as an input for a step; `absorb` takes its
  /// output.
  SeqInput prefill_input(int end);
  SeqInput decode_input(bool with_draft);
  void absorb(const SeqInput& in, const SeqOutput& out);

  void prefill(int end);
  /// Prefill in steps that end at multiples of `chunk`, then decode until at least `tokens` are
  /// there (an accepted draft may bring one more), with drafts except where a step would pass a
  /// multiple of the block size.
  void generate(int tokens, int chunk, bool drafts = true);

  /// The first `tokens` decided ids, and their logits' digests.
  std::vector<int32_t> generated(int tokens) const {
    return {generated_.begin(), generated_.begin() + tokens};
  }
  std::vector<std::array<uint8_t, 32>> digests(int tokens) const {
    return {digests_.begin(), digests_.begin() + tokens};
  }
  int decided() const { return static_cast<int>(generated_.size()); }
  int computed() const { return computed_; }
  int proposed() const { return proposed_; }
  int accepted_drafts() const { return accepted_; }
  int attn_block(int i) const { return attn_blocks_[static_cast<size_t>(i)]; }
  int tail_block() const { return tail_block_; }
  int state_block(int group) const { return state_[group]; }

  /// Pretends that the first `computed` tokens are in these pages already.
  void resume(int computed, std::span<const int> attn_blocks, int tail_block,
              std::span<const int> state_blocks);

 private:
  void cover(int tokens);
  void next_state_blocks(SeqInput& in);

  TestEngine& engine_;
  std::vector<int32_t> prompt_;
  std::vector<int32_t> step_tokens_;
  std::vector<int32_t> generated_;
  std::vector<std::array<uint8_t, 32>> digests_;
  std::vector<int32_t> attn_blocks_;
  int tail_block_ = 0;
  int state_[num_state_groups] = {0, 0, 0};
  int spare_[num_state_groups][3] = {};
  int computed_ = 0;
  int32_t draft_ = -1;
  int proposed_ = 0;
  int accepted_ = 0;
};

/// Hidden states after the final norm and logits of every row.
struct StackRun {
  std::vector<float> hidden;
  std::vector<float> logits;
};

/// Runs a prompt on one rank in steps that end at the given positions; steps of one row run as
/// decode steps. Each step continues from the cache pages alone.
StackRun run_stack(const ModelConfig& config, int kda_chunk, uint64_t seed,
                   const std::vector<int32_t>& ids, const std::vector<int>& ends,
                   const TestSide& side = {});

/// Ids that depend on (seed, i) alone.
std::vector<int32_t> random_prompt(uint64_t seed, int length, int vocab);

} // namespace hitproof::engine::testing
