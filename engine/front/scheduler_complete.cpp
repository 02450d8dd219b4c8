// Completion: what a step's outcomes change.
#include "engine/front/scheduler.h"
#include "engine/front/tokenizer.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace hitproof::engine {
namespace {

void check_outcome(const SequenceStep& step, const SequenceOutcome& outcome) {
  const Sequence& s = *step.sequence;
  size_t expected = 0;
  bool fits = false;
  if (step.prefill) {
    expected = step.start + step.count == s.prefill_end ? 1 : 0;
    fits = outcome.accepted == step.count;
  } else {
    expected = static_cast<size_t>(std::max(outcome.accepted, 0));
    fits = outcome.accepted >= 1 && outcome.accepted <= step.count;
  }
  if (fits && outcome.sampled.size() == expected) return;
  throw std::runtime_error("the ranks answered request " + std::to_string(s.id) + " with " +
                           std::to_string(outcome.accepted) + " accepted and " +
                           std::to_string(outcome.sampled.size()) +
                           " sampled tokens for a step of " + std::to_string(step.count) +
                           " tokens at position " + std::to_string(step.start));
}

} // namespace

void Scheduler::complete(const StepPlan& plan, std::span<SequenceOutcome> outcomes) {
  if (outcomes.size() != plan.sequences.size())
    throw std::runtime_error("a step has another number of outcomes than sequences");
  for (size_t i = 0; i < outcomes.size(); ++i)
    check_outcome(plan.sequences[i], outcomes[i]);
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const SequenceStep& step = plan.sequences[i];
    Sequence& s = *step.sequence;
    SequenceOutcome& outcome = outcomes[i];
    const int c = config_.block_tokens;
    if (s.load.boundary > 0) {
      for (int32_t chunk = s.load.token_begin / c; chunk < s.load.boundary / c; ++chunk)
        pool_.file(s.attention[static_cast<size_t>(chunk)], s.hashes[static_cast<size_t>(chunk)],
                   s.id);
      for (const int32_t block : s.load.state)
        pool_.file(block, s.hashes[static_cast<size_t>(s.load.boundary / c - 1)], s.id);
      s.load = {};
    }
    s.computed += outcome.accepted;
    for (size_t g = 0; g < num_state_groups; ++g)
      s.state[g].running =
          step.state_out[g][step.prefill ? 0 : static_cast<size_t>(outcome.accepted - 1)];
    counters_.accepted_drafts += static_cast<uint64_t>(step.prefill ? 0 : outcome.accepted - 1);
    s.draft = outcome.draft;
    append(s, outcome);
    if (step.checkpoint != 0 && s.computed == step.checkpoint) finish_checkpoint(step, s);
  }
  for (auto it = running_.begin(); it != running_.end();) {
    if ((*it)->finish == FinishReason::none) {
      ++it;
      continue;
    }
    release_blocks(**it);
    finished_.push_back(std::move(*it));
    it = running_.erase(it);
  }
}

void Scheduler::finish_checkpoint(const SequenceStep& step, Sequence& s) {
  const int c = config_.block_tokens;
  // Where an accepted draft reached the boundary, that draft is the last token of the prefix: it
  // was appended before.
  extend_prefix_hashes(std::span(s.tokens).first(static_cast<size_t>(s.computed)), c, s.hashes);
  const auto chunk = static_cast<size_t>(step.checkpoint / c - 1);
  pool_.file(s.attention[chunk], s.hashes[chunk], s.id);
  for (StatePages& pages : s.state) {
    pool_.file(pages.next_checkpoint, s.hashes[chunk], s.id);
    pages.checkpoints.push_back({step.checkpoint, pages.next_checkpoint});
    pages.next_checkpoint = 0;
  }
}

void Scheduler::append(Sequence& s, SequenceOutcome& outcome) {
  size_t kept = 0;
  for (const int32_t token : outcome.sampled) {
    s.tokens.push_back(token);
    ++kept;
    if (token == end_token) ++counters_.end_tokens;
    if (token == end_token && !s.ignore_eos)
      s.finish = FinishReason::stop;
    else if (s.remaining() == 0)
      s.finish = FinishReason::length;
    if (s.finish != FinishReason::none) break;
  }
  outcome.sampled.resize(kept);
}

std::vector<std::unique_ptr<Sequence>> Scheduler::take_finished() {
  return std::exchange(finished_, {});
}

} // namespace hitproof::engine
