#include "engine/front/scheduler.h"

#include "engine/front/tokenizer.h"

#include <algorithm>
#include <stdexcept>

namespace hitproof::engine {
namespace {

int32_t blocks_for(int32_t tokens, int block_tokens) {
  return (tokens + block_tokens - 1) / block_tokens;
}

int32_t next_multiple(int32_t position, int interval) {
  return (position / interval + 1) * interval;
}

} // namespace

std::string check_scheduler_config(const SchedulerConfig& config) {
  if (config.max_sequences < 1) return "--max-seqs must be at least 1";
  // A chunk is never cut short by the budget, or checkpoints would not be where other runs have
  // them.
  const int least = config.block_tokens + 2 * config.max_sequences;
  if (config.token_budget < least)
    return "--token-budget " + std::to_string(config.token_budget) +
           " is too small: a step must take one chunk of " + std::to_string(config.block_tokens) +
           " tokens beside two tokens of each sequence; give at least " + std::to_string(least);
  return {};
}

int32_t StepPlan::tokens() const {
  int32_t sum = 0;
  for (const SequenceStep& s : sequences)
    sum += s.count;
  return sum;
}

Scheduler::Scheduler(const SchedulerConfig& config, BlockPool& pool, ExternalIndex* external,
                     std::function<void(const Admission&)> on_admission)
    : config_(config), pool_(pool), external_(external), on_admission_(std::move(on_admission)) {
  if (const std::string wrong = check_scheduler_config(config); !wrong.empty())
    throw std::invalid_argument(wrong);
}

std::string Scheduler::refuse(int32_t prompt_tokens, int32_t max_tokens) const {
  const int64_t total = int64_t{prompt_tokens} + max_tokens;
  if (total > config_.max_positions)
    return "prompt (" + std::to_string(prompt_tokens) + " tokens) and max_tokens (" +
           std::to_string(max_tokens) + ") exceed the model's limit of " +
           std::to_string(config_.max_positions) + " tokens; shorten one of them";
  // The last token is sampled but never computed. Every checkpoint keeps a page in each state
  // group.
  const auto computed = static_cast<int32_t>(total - 1);
  const int32_t kept = computed / config_.block_tokens + (config_.full_lookup ? 1 : 0);
  const int32_t needed =
      blocks_for(computed, config_.block_tokens) + 1 + num_state_groups * (2 + kept);
  if (needed > pool_.capacity())
    return "a request of " + std::to_string(total) + " tokens needs " + std::to_string(needed) +
           " cache blocks, the pool has " + std::to_string(pool_.capacity()) +
           "; shorten the request or start the engine with a larger --blocks";
  return {};
}

void Scheduler::submit(std::unique_ptr<Sequence> sequence) {
  waiting_.push_back(std::move(sequence));
}

int32_t Scheduler::chunk_end(const Sequence& s) const {
  int32_t end = std::min(next_multiple(s.computed, config_.block_tokens), s.prefill_end);
  if (config_.split > 0) end = std::min(end, next_multiple(s.computed, config_.split));
  return end;
}

bool Scheduler::may_draft(const Sequence& s) const {
  return s.draft >= 0 && s.remaining() >= 2 && (s.computed + 1) % config_.block_tokens != 0;
}

std::optional<StepPlan> Scheduler::plan() {
  load_planned_ = false;
  int32_t budget = config_.token_budget;
  bool preempted = false;
  std::vector<Share> shares;
  for (size_t i = 0; i < running_.size(); ++i) {
    Sequence& s = *running_[i];
    const int32_t drafts = !s.prefilling() && may_draft(s) ? 1 : 0;
    const int32_t count = s.prefilling() ? chunk_end(s) - s.computed : 1 + drafts;
    if (count > budget) continue; // whole in a later step
    bool reserved = reserve(s, s.computed + count);
    while (!reserved) {
      preempted = true;
      const bool itself = running_.size() == i + 1;
      preempt(running_.size() - 1);
      if (itself) break;
      reserved = reserve(s, s.computed + count);
    }
    if (!reserved) break;
    shares.push_back({&s, count, drafts});
    budget -= count;
  }
  // Blocks taken from a running sequence are not given to a waiting one in the same step.
  while (!preempted && !waiting_.empty() &&
         running_.size() < static_cast<size_t>(config_.max_sequences) && admit_next(budget)) {
    Sequence& s = *running_.back();
    const int32_t count = chunk_end(s) - s.computed;
    shares.push_back({&s, count, 0});
    budget -= count;
  }
  if (shares.empty()) return std::nullopt;

  StepPlan plan;
  plan.step = ++steps_;
  for (Share& share : shares) {
    if (load_planned_ && share.drafts > 0) { // protected step
      share.count -= share.drafts;
      share.drafts = 0;
    }
    counters_.drafts += static_cast<uint64_t>(share.drafts);
    plan.sequences.push_back(assemble(share));
  }
  return plan;
}

bool Scheduler::reserve(Sequence& s, int32_t end) {
  const int c = config_.block_tokens;
  while (static_cast<int32_t>(s.attention.size()) < blocks_for(end, c)) {
    const auto begin = static_cast<uint32_t>(s.attention.size()) * static_cast<uint32_t>(c);
    const auto block = pool_.take(s.id, attention_group, begin, begin + static_cast<uint32_t>(c));
    if (!block) return false;
    s.attention.push_back(*block);
  }
  if (end % c != 0) return true;
  for (int g = 0; g < num_state_groups; ++g) {
    StatePages& pages = s.state[static_cast<size_t>(g)];
    if (pages.next_checkpoint != 0) continue;
    const auto block = pool_.take(s.id, first_state_group + g, static_cast<uint32_t>(end - c),
                                  static_cast<uint32_t>(end));
    if (!block) return false;
    pages.next_checkpoint = *block;
  }
  return true;
}

SequenceStep Scheduler::assemble(const Share& share) {
  Sequence& s = *share.sequence;
  SequenceStep step;
  step.sequence = &s;
  step.start = s.computed;
  step.count = share.count;
  step.drafts = share.drafts;
  step.prefill = s.prefilling();
  const int32_t end = step.start + step.count;
  if (step.prefill && end < s.length()) step.next_token = s.tokens[static_cast<size_t>(end)];
  if (end % config_.block_tokens == 0) step.checkpoint = end;
  step.load = s.load;
  for (size_t g = 0; g < num_state_groups; ++g) {
    const StatePages& pages = s.state[g];
    step.state_in[g] = pages.running;
    // In place where the state is in a working page already, so that two pages are enough.
    const int32_t first = pages.running == pages.working[1] ? pages.working[1] : pages.working[0];
    const int32_t second = first == pages.working[0] ? pages.working[1] : pages.working[0];
    step.state_out[g] = {first, share.count > 1 && !step.prefill ? second : 0};
    if (step.checkpoint != 0) step.state_out[g][share.drafts > 0 ? 1 : 0] = pages.next_checkpoint;
  }
  return step;
}

void Scheduler::preempt(size_t index) {
  std::unique_ptr<Sequence> s = std::move(running_[index]);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  release_blocks(*s);
  if (s->load.boundary > 0 && external_) external_->release(s->id);
  s->load = {};
  s->computed = 0;
  s->draft = -1;
  ++s->preemptions;
  ++counters_.preemptions;
  waiting_.push_front(std::move(s));
}

void Scheduler::release_blocks(Sequence& s) {
  // Later chunks first: of two cached blocks the one nearer to the start of the prompt serves more
  // requests, so it should be given out later.
  for (auto& pages : s.state) {
    for (const int32_t block : {pages.next_checkpoint, pages.working[0], pages.working[1]})
      if (block != 0) pool_.release(block, s.id);
  }
  if (s.tail != 0) pool_.release(s.tail, s.id);
  for (auto chunk = static_cast<int32_t>(s.attention.size()); chunk > 0; --chunk) {
    for (const auto& pages : s.state)
      for (const Checkpoint& kept : pages.checkpoints)
        if (kept.boundary == chunk * config_.block_tokens) pool_.release(kept.block, s.id);
    pool_.release(s.attention[static_cast<size_t>(chunk - 1)], s.id);
  }
  s.attention.clear();
  s.tail = 0;
  s.state = {};
}

std::unique_ptr<Sequence> Scheduler::abort(uint64_t request) {
  const auto is_it = [request](const auto& s) { return s->id == request; };
  std::unique_ptr<Sequence> out;
  if (const auto r = std::find_if(running_.begin(), running_.end(), is_it); r != running_.end()) {
    out = std::move(*r);
    running_.erase(r);
    release_blocks(*out);
  } else if (const auto w = std::find_if(waiting_.begin(), waiting_.end(), is_it);
             w != waiting_.end()) {
    out = std::move(*w);
    waiting_.erase(w);
  }
  if (out) out->finish = FinishReason::aborted;
  return out;
}

bool Scheduler::reset_prefix_cache() { return idle() && pool_.reset(); }

} // namespace hitproof::engine
