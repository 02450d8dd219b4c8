// A test double for ranks, device memory and external cache: it computes nothing, but knows what
// every page holds.
//
// Each page's content is the token prefix behind it, so that a step which starts from a wrong
// state, reads a block that somebody else overwrote, or saves a page under a wrong name is seen at
// once.
#pragma once

#include "engine/front/block_pool.h"
#include "engine/front/scheduler.h"

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace hitproof::engine::test {

using Tokens = std::vector<int32_t>;

/// The token that greedily follows a prefix in the shadow's language: any fixed function will do.
int32_t next_token(const Tokens& prefix);

/// A prompt that differs from those of other numbers in its first tokens.
Tokens make_prompt(int32_t length, int32_t number);

struct Move {
  uint64_t request = 0;
  int32_t begin = 0, boundary = 0;
  bool held = false; // a save that copied nothing
};

class ShadowEngine : public ExternalIndex {
 public:
  ShadowEngine(int block_tokens, const BlockPool& pool, double accept, uint32_t seed)
      : c_(block_tokens), pool_(pool), accept_(accept), random_(seed) {}

  Answer lookup(const Sequence& sequence, bool full) override;
  void release(uint64_t request) override { ++releases; }

  /// Plays a step. What does not fit goes to `violations`.
  std::vector<SequenceOutcome> execute(const StepPlan& plan);

  std::vector<Move> loads, saves;
  std::vector<std::string> violations;
  std::vector<std::string>
      double_folds; // a state that had folded in more tokens than were computed
  int releases = 0;
  bool saving = true;

 private:
  int32_t& slot(const Sequence& s, int32_t position);
  void load(const SequenceStep& step);
  void save(const SequenceStep& step, int32_t reached);
  void check_tables(const StepPlan& plan);
  void violate(const SequenceStep& step, const std::string& what);

  int c_;
  const BlockPool& pool_;
  double accept_;
  std::mt19937 random_;
  std::map<int32_t, Tokens> states_;    // state page -> prefix folded in
  std::map<int32_t, Tokens> attention_; // block -> token of each of its positions
  std::set<Tokens> external_;           // prefixes at checkpoints
};

/// Plays until nothing is left to do; the finished sequences in the order of their end.
std::vector<std::unique_ptr<Sequence>> run_all(Scheduler& scheduler, ShadowEngine& shadow,
                                               std::vector<StepPlan>* plans = nullptr);

std::unique_ptr<Sequence> make_sequence(uint64_t id, Tokens prompt, int32_t max_tokens);

} // namespace hitproof::engine::test
