#include "engine/front/orders.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>

namespace hitproof::engine {

BlockRef OrderMaker::ref(int32_t block) const {
  if (block == 0) return {};
  return {block, pool_.generation(block)};
}

SeqOrder OrderMaker::sequence_order(const SequenceStep& step) const {
  const Sequence& s = *step.sequence;
  SeqOrder order;
  order.request = s.id;
  order.start = step.start;
  for (int32_t i = 0; i < step.count - step.drafts; ++i)
    order.tokens.push_back(s.tokens[static_cast<size_t>(step.start + i)]);
  if (step.drafts > 0) order.tokens.push_back(s.draft);
  order.last_is_draft = step.drafts > 0;
  order.prefill = step.prefill;
  order.next_token = step.next_token;
  order.prompt_tokens = static_cast<uint32_t>(s.prompt_tokens);
  for (const int32_t block : s.attention)
    order.attention.push_back(ref(block));
  order.tail = ref(s.tail);
  for (size_t g = 0; g < num_state_groups; ++g) {
    order.state[g].in = ref(step.state_in[g]);
    order.state[g].out = {ref(step.state_out[g][0]), ref(step.state_out[g][1])};
  }
  return order;
}

LoadOrder OrderMaker::load_order(const SequenceStep& step) const {
  const Sequence& s = *step.sequence;
  const int32_t c = options_.block_tokens;
  LoadOrder order;
  order.request = s.id;
  order.token_begin = static_cast<uint32_t>(step.load.token_begin);
  order.boundary = static_cast<uint32_t>(step.load.boundary);
  for (int32_t chunk = step.load.token_begin / c; chunk < step.load.boundary / c; ++chunk) {
    const auto end = static_cast<size_t>((chunk + 1) * c);
    order.chunks.push_back(
        {s.hashes[static_cast<size_t>(chunk)],
         end < s.tokens.size() ? static_cast<uint32_t>(s.tokens[end]) : unknown_token});
    order.attention.push_back(ref(s.attention[static_cast<size_t>(chunk)]));
  }
  order.tail = ref(s.tail);
  for (size_t g = 0; g < num_state_groups; ++g)
    order.state[g] = ref(step.load.state[g]);
  return order;
}

SaveOrder OrderMaker::save_order(const SequenceStep& step) const {
  const Sequence& s = *step.sequence;
  const int32_t c = options_.block_tokens;
  SaveOrder order;
  order.request = s.id;
  order.boundary = static_cast<uint32_t>(step.checkpoint);
  // A draft that the step verifies is the last token of the prefix it may complete.
  std::vector<PrefixHash> hashes = s.hashes;
  std::vector<int32_t> prefix(s.tokens.begin(), s.tokens.begin() + (step.checkpoint - step.drafts));
  if (step.drafts > 0) prefix.push_back(s.draft);
  extend_prefix_hashes(prefix, c, hashes);
  order.prefix = hashes[static_cast<size_t>(step.checkpoint / c - 1)];
  order.attention = ref(s.attention[static_cast<size_t>(step.checkpoint / c - 1)]);
  order.tail = ref(s.tail);
  const size_t last = step.drafts > 0 ? 1 : 0;
  for (size_t g = 0; g < num_state_groups; ++g)
    order.state[g] = ref(step.state_out[g][last]);
  return order;
}

std::vector<Step> OrderMaker::make(const StepPlan& plan) {
  Step common;
  common.step = plan.step;
  for (const SequenceStep& step : plan.sequences) {
    common.seqs.push_back(sequence_order(step));
    if (step.load.boundary > 0) {
      common.loads.push_back(load_order(step));
      common.loads.back().transfer = ++transfers_;
    }
    if (step.checkpoint != 0 && options_.connector) {
      common.saves.push_back(save_order(step));
      common.saves.back().transfer = ++transfers_;
    }
  }
  std::vector<Step> steps(static_cast<size_t>(options_.ranks), common);
  for (size_t rank = 0; rank < steps.size(); ++rank) {
    const uint64_t base = static_cast<uint64_t>(rank + 1) << 48;
    for (SaveOrder& save : steps[rank].saves)
      save.transfer += base;
    for (LoadOrder& load : steps[rank].loads)
      load.transfer += base;
  }
  if (options_.broken == Break::rank_resumes_elsewhere) {
    for (size_t i = 0; i < plan.sequences.size(); ++i)
      if (plan.sequences[i].load.boundary > 0) --steps.back().seqs[i].start;
  }
  return steps;
}

namespace {

// Margins are compared by their bits: broken pages make NaN, and a NaN that all ranks share is
// agreement.
bool same_result(const SeqResult& a, const SeqResult& b) {
  return a.request == b.request && a.accepted == b.accepted && a.sampled == b.sampled &&
         a.logits == b.logits && a.draft == b.draft &&
         std::equal(a.margin.begin(), a.margin.end(), b.margin.begin(), b.margin.end(),
                    [](float x, float y) {
                      return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
                    });
}

} // namespace

std::vector<SeqResult> agreed_results(uint64_t step, const std::vector<StepDone>& answers) {
  for (size_t rank = 0; rank < answers.size(); ++rank) {
    const StepDone& answer = answers[rank];
    const std::string who = "rank " + std::to_string(rank);
    if (answer.step != step)
      throw std::runtime_error(who + " answered step " + std::to_string(answer.step) +
                               " instead of step " + std::to_string(step));
    if (answer.results.size() != answers[0].results.size())
      throw std::runtime_error(who + " answered step " + std::to_string(step) + " for " +
                               std::to_string(answer.results.size()) + " sequences, rank 0 for " +
                               std::to_string(answers[0].results.size()));
    for (size_t i = 0; i < answer.results.size(); ++i) {
      if (same_result(answer.results[i], answers[0].results[i])) continue;
      throw std::runtime_error(
          who + " disagrees with rank 0 on the outputs of step " + std::to_string(step) +
          ", request " + std::to_string(answers[0].results[i].request) +
          ": the ranks must compute the same tokens; their states have come apart");
    }
  }
  return answers.at(0).results;
}

} // namespace hitproof::engine
