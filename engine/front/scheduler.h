// Decides, step by step, what is computed: admission with prefix credit, chunks, drafts, blocks,
// preemption.
//
// Promises, with C the block (checkpoint) size:
// - synchronous: one plan at a time, completed before the next; at most max_sequences running,
// token_budget rows a step;
// - every prefill chunk ends at the next multiple of C or at the end of the known tokens, whichever
// comes first;
// - a decode step never passes a multiple of C: where its token plus the draft would, it goes
// without the draft; nor
//   does a step with a load in it have drafts, nor the step that decides a request's last token;
// - so a state at every multiple of C exists exactly when computation gets there, and every such
// checkpoint that a
//   request's computation crosses, decode included, is planned once with the pages that hold it;
// - credit: the device prefix cache first, then the external cache. The device hit is the largest
// kC <= N-1 whose
//   attention blocks are cached, one block less (below), with the state pages of all three groups.
//   The external hit is used where it is longer. Strict lookup: B = p = what is held, at most C
//   floor((N-1)/C). Full lookup (the faulty upstream behaviour): at most C floor(N/C), and where B
//   = N the credit is p = N-1 although the state holds N tokens.
//
// Why one block less: the draft layer's entry at the last position of a block depends on the token
// after it, which the block's content name does not cover. Serving engines with an MTP or EAGLE
// drafter therefore give up the last matched block, and find 1,792 of 5,376 tokens where the
// external cache restores 3,584.
#pragma once

#include "engine/front/block_pool.h"
#include "engine/front/sequence.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace hitproof::engine {

struct SchedulerConfig {
  int block_tokens = 0;
  int token_budget = 8192;
  int max_sequences = 4;
  int max_positions = 0;
  bool full_lookup = false;
  int split = 0; // prefill chunks also end at multiples of this; 0: none (set by --break
                 // prefill-split only)
};

/// Says what is wrong with a configuration and how to mend it; empty where nothing is.
std::string check_scheduler_config(const SchedulerConfig& config);

/// The external cache as the scheduler asks it.
class ExternalIndex {
 public:
  struct Answer {
    uint64_t lookup = 0;
    int32_t tokens = 0;
  };
  virtual ~ExternalIndex() = default;
  /// Tokens of the sequence that every rank and group can restore; protects them until loaded or
  /// released.
  virtual Answer lookup(const Sequence& sequence, bool full) = 0;
  virtual void release(uint64_t request) = 0;
};

struct SequenceStep {
  Sequence* sequence = nullptr;
  int32_t start = 0;
  int32_t count = 0; // drafts included
  int32_t drafts = 0;
  bool prefill = false;
  int32_t next_token = -1;
  std::array<int32_t, num_state_groups> state_in{};
  std::array<std::array<int32_t, 2>, num_state_groups> state_out{};
  int32_t checkpoint = 0; // multiple of C that start + count reaches, 0 where none
  PendingLoad load;       // boundary 0 where nothing is loaded
};

struct StepPlan {
  uint64_t step = 0;
  std::vector<SequenceStep> sequences;
  int32_t tokens() const;
};

/// What the ranks agreed on for one sequence of a plan.
struct SequenceOutcome {
  int32_t accepted = 0;
  std::vector<int32_t> sampled;
  int32_t draft = -1;
};

struct Admission {
  uint64_t request = 0, lookup = 0;
  int32_t local_hit = 0, external_hit = 0, label_boundary = 0, computed = 0, scheduled = 0;
  int32_t known_tokens = 0, preemptions = 0;
};

struct SchedulerCounters {
  uint64_t local_queries = 0, local_hits = 0, external_queries = 0, external_hits = 0; // tokens
  uint64_t drafts = 0, accepted_drafts = 0, preemptions = 0, end_tokens = 0;
};

class Scheduler {
 public:
  /// `external` may be null (connector off). The pool and the index outlive the scheduler.
  Scheduler(const SchedulerConfig& config, BlockPool& pool, ExternalIndex* external,
            std::function<void(const Admission&)> on_admission = {});

  /// Why a request of that size can never run; empty where it can.
  std::string refuse(int32_t prompt_tokens, int32_t max_tokens) const;
  void submit(std::unique_ptr<Sequence> sequence);
  /// The next step, or nothing where no sequence can run.
  std::optional<StepPlan> plan();
  /// Applies a plan's outcomes. Tokens past a request's end are dropped from the outcomes. Throws
  /// std::runtime_error for outcomes that do not fit the plan. Sequences that finished stay in
  /// `finished()` until taken.
  void complete(const StepPlan& plan, std::span<SequenceOutcome> outcomes);
  /// Takes a request out, whatever its state; call between steps.
  std::unique_ptr<Sequence> abort(uint64_t request);
  std::vector<std::unique_ptr<Sequence>> take_finished();
  /// Forgets the device prefix cache; refused while any request is known.
  bool reset_prefix_cache();

  bool idle() const { return running_.empty() && waiting_.empty(); }
  size_t running() const { return running_.size(); }
  size_t waiting() const { return waiting_.size(); }
  const SchedulerCounters& counters() const { return counters_; }

 private:
  struct Share { // of the step being planned
    Sequence* sequence;
    int32_t count;
    int32_t drafts;
  };
  int32_t chunk_end(const Sequence& s) const;
  bool may_draft(const Sequence& s) const;
  bool admit_next(int32_t budget);
  int32_t local_hit(const Sequence& s) const;
  int32_t admission_blocks(const Sequence& s) const;
  void place(Sequence& s, int32_t local, int32_t boundary);
  bool reserve(Sequence& s, int32_t end);
  void preempt(size_t index);
  void release_blocks(Sequence& s);
  SequenceStep assemble(const Share& share);
  void finish_checkpoint(const SequenceStep& step, Sequence& s);
  void append(Sequence& s, SequenceOutcome& outcome);

  SchedulerConfig config_;
  BlockPool& pool_;
  ExternalIndex* external_;
  std::function<void(const Admission&)> on_admission_;
  std::vector<std::unique_ptr<Sequence>> running_; // in the order of admission
  std::deque<std::unique_ptr<Sequence>> waiting_;
  std::vector<std::unique_ptr<Sequence>> finished_;
  SchedulerCounters counters_;
  uint64_t steps_ = 0;
  bool load_planned_ = false;
};

} // namespace hitproof::engine
