// Admission: what a waiting request is credited with, and the blocks it starts from.
#include "engine/front/scheduler.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace hitproof::engine {

int32_t Scheduler::local_hit(const Sequence& s) const {
  const int c = config_.block_tokens;
  const int32_t most = (s.length() - 1) / c;
  int32_t matched = 0;
  while (matched < most && pool_.find(attention_group, s.hashes[static_cast<size_t>(matched)]) != 0)
    ++matched;
  // The last matched block is given up (scheduler.h); below it any boundary with all its states
  // will do.
  for (int32_t k = matched - 1; k > 0; --k) {
    const PrefixHash& content = s.hashes[static_cast<size_t>(k - 1)];
    bool held = true;
    for (int g = 0; g < num_state_groups; ++g)
      held = held && pool_.find(first_state_group + g, content) != 0;
    if (held) return k * c;
  }
  return 0;
}

int32_t Scheduler::admission_blocks(const Sequence& s) const {
  // Most that place() and the first chunk can take: attention, tail, working pages, and in each
  // state group a restored page and the page of the first checkpoint, which need two multiples of C
  // inside the prompt (full lookup can restore and reach the same one).
  const int c = config_.block_tokens;
  const int32_t multiples = s.length() / c;
  const int32_t kept = std::min(2, multiples) + (config_.full_lookup ? 1 : 0);
  return (s.length() + c - 1) / c + 1 + num_state_groups * (2 + kept);
}

bool Scheduler::admit_next(int32_t budget) {
  Sequence& s = *waiting_.front();
  const int c = config_.block_tokens;
  if (budget < std::min(c, s.length()) || pool_.available() < admission_blocks(s)) return false;
  extend_prefix_hashes(s.tokens, c, s.hashes);
  s.prefill_end = s.length();

  const int32_t local = local_hit(s);
  ExternalIndex::Answer answer;
  int32_t boundary = local;
  if (external_ && s.length() >= c) {
    answer = external_->lookup(s, config_.full_lookup);
    const int32_t most = (config_.full_lookup ? s.length() : s.length() - 1) / c * c;
    if (answer.tokens < 0 || answer.tokens % c != 0 || answer.tokens > most)
      throw std::runtime_error("the cache server answered a lookup of request " +
                               std::to_string(s.id) + " with " + std::to_string(answer.tokens) +
                               " tokens; at most " + std::to_string(most) + " in multiples of " +
                               std::to_string(c) + " are possible");
    counters_.external_queries += static_cast<uint64_t>(s.length() - local);
    if (answer.tokens > local) {
      boundary = answer.tokens;
      load_planned_ = true;
    } else {
      external_->release(s.id);
    }
  }
  place(s, local, boundary);
  // Full lookup of a prompt that ends on a boundary: one token must be computed for its logits, so
  // the credit is one less, while the restored state has folded in all of them.
  s.computed = std::min(boundary, s.length() - 1);
  s.lookup = answer.lookup;
  if (s.preemptions == 0) s.cached_tokens = s.computed;
  counters_.local_queries += static_cast<uint64_t>(s.length());
  counters_.local_hits += static_cast<uint64_t>(local);
  counters_.external_hits += static_cast<uint64_t>(s.computed - std::min(local, s.computed));

  running_.push_back(std::move(waiting_.front()));
  waiting_.pop_front();
  const int32_t end = chunk_end(s);
  if (!reserve(s, end))
    throw std::logic_error("an admitted request found no block: admission_blocks is wrong");
  if (on_admission_) {
    on_admission_({s.id, s.lookup, local, answer.tokens, boundary, s.computed, end - s.computed,
                   s.length(), s.preemptions});
  }
  return true;
}

void Scheduler::place(Sequence& s, int32_t local, int32_t boundary) {
  const int c = config_.block_tokens;
  const auto taken = [&](int group, int32_t begin, int32_t end) {
    const auto block =
        pool_.take(s.id, group, static_cast<uint32_t>(begin), static_cast<uint32_t>(end));
    if (!block)
      throw std::logic_error("an admitted request found no block: admission_blocks is wrong");
    return *block;
  };
  // Shared blocks first: they may be free, and taking others must not evict them.
  for (int32_t chunk = 0; chunk < local / c; ++chunk) {
    s.attention.push_back(pool_.find(attention_group, s.hashes[static_cast<size_t>(chunk)]));
    pool_.share(s.attention.back(), s.id);
  }
  const bool load = boundary > local;
  for (int g = 0; g < num_state_groups && local > 0 && !load; ++g) {
    const int32_t block =
        pool_.find(first_state_group + g, s.hashes[static_cast<size_t>(local / c - 1)]);
    pool_.share(block, s.id);
    s.state[static_cast<size_t>(g)].checkpoints.push_back({local, block});
    s.state[static_cast<size_t>(g)].running = block;
  }
  s.tail = taken(tail_group, 0, static_cast<int32_t>(s.length()));
  for (int32_t chunk = local / c; load && chunk < boundary / c; ++chunk)
    s.attention.push_back(taken(attention_group, chunk * c, (chunk + 1) * c));
  for (int g = 0; g < num_state_groups; ++g) {
    StatePages& pages = s.state[static_cast<size_t>(g)];
    for (int32_t& page : pages.working)
      page = taken(first_state_group + g, 0, 0);
    if (!load) continue;
    const int32_t block = taken(first_state_group + g, boundary - c, boundary);
    pages.checkpoints.push_back({boundary, block});
    pages.running = block;
    s.load.state[static_cast<size_t>(g)] = block;
  }
  if (!load) return;
  s.load.token_begin = local;
  s.load.boundary = boundary;
}

} // namespace hitproof::engine
