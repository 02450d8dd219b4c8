// What a step tells the probe: tails before the computation reads them, positions, states, pooled
// keys.
#include "engine/runtime/rank_step.h"
#include "probes/hitproof.h"

#include <algorithm>

namespace hitproof::engine {
namespace {

constexpr int pool_size = 4;

hitproof_tail_read_t describe_tail(const CacheEntry& e, const RankMemory& memory, int block,
                                   int rank, void* stream) {
  hitproof_tail_read_t t{};
  t.stream = stream;
  t.effective = memory.page(e, block);
  t.naive = memory.contiguous_page(e, block);
  t.block = static_cast<uint32_t>(block);
  t.rank = static_cast<uint16_t>(rank);
  t.entry = static_cast<uint16_t>(e.index);
  t.ring = static_cast<uint16_t>(e.shape.shape[1]);
  t.channels = static_cast<uint16_t>(e.shape.shape[2]);
  t.element_bytes = static_cast<uint16_t>(e.shape.element_bytes);
  for (size_t i = 0; i < 3; ++i)
    t.stride[i] = static_cast<uint16_t>(e.shape.stride[i]);
  return t;
}

bool tail_effect() { return (HITPROOF_MODE() & HITPROOF_MODE_TAIL_EFFECT) != 0; }

} // namespace

void StepExecutor::announce_tail_reads(const Step& step) {
  if (!hitproof_tail_read) return;
  for (const LoadOrder& load : step.loads) {
    for (int i = 0; i < num_regions; ++i) {
      hitproof_tail_read_t t =
          describe_tail(geometry_.tail(i), memory_, load.tail.block, rank_, compute_.get());
      t.request = load.request;
      t.transfer = load.transfer;
      if (broken_ == Break::tail_wrong_announce) t.effective = t.naive;
      hitproof_tail_read(&t);
    }
  }
}

void StepExecutor::announce_tail_steps(const Step& step) {
  if (!tail_effect() || !hitproof_tail_step) return;
  for (const SeqOrder& seq : step.seqs) {
    // At 1 and 2 the ring holds one and two tokens of the pool that the coming steps complete.
    const int phase = seq.start % pool_size;
    if (seq.prefill || (phase != 1 && phase != 2)) continue;
    for (int i = 0; i < num_regions; ++i) {
      hitproof_tail_read_t t =
          describe_tail(geometry_.tail(i), memory_, seq.tail.block, rank_, compute_.get());
      t.request = seq.request;
      hitproof_tail_step(&t, static_cast<uint32_t>(seq.start));
    }
  }
}

void StepExecutor::announce_pooled_keys(const Step& step) {
  if (!tail_effect() || !hitproof_pooled_key) return;
  for (size_t s = 0; s < step.seqs.size(); ++s) {
    const SeqOrder& seq = step.seqs[s];
    if (seq.prefill) continue;
    for (int position = seq.start; position < seq.start + outputs_[s].accepted; ++position) {
      if (position % pool_size != pool_size - 1) continue;
      const int block = seq.attention[static_cast<size_t>(position / geometry_.block_tokens)].block;
      const int slot = position % geometry_.block_tokens / pool_size;
      for (int i = 0; i < num_regions; ++i) {
        const CacheEntry& e = geometry_.indexer(i);
        std::byte* page = memory_.page(e, block);
        hitproof_pooled_key_t k{};
        k.request = seq.request;
        k.stream = compute_.get();
        k.key = page + geometry_.pooled_key_offset(slot);
        k.scale = page + geometry_.pooled_scale_offset(slot);
        k.key_bytes = geometry_.tail(i).shape.shape[2]; // e4m3: a byte a channel
        k.position = static_cast<uint32_t>(position);
        k.block = static_cast<uint32_t>(block);
        k.rank = static_cast<uint16_t>(rank_);
        k.entry = static_cast<uint16_t>(e.index);
        hitproof_pooled_key(&k);
      }
    }
  }
}

void StepExecutor::announce_step(const Step& step, uint64_t begin_ns, uint64_t end_ns) {
  size_t tokens = 0;
  for (const SeqOrder& seq : step.seqs)
    tokens += seq.tokens.size();
  HITPROOF_CALL(step, (step.step, rank_, static_cast<int>(step.seqs.size()),
                       static_cast<uint32_t>(tokens), begin_ns, end_ns));
  for (size_t i = 0; i < step.seqs.size(); ++i) {
    const SeqOrder& seq = step.seqs[i];
    hitproof_step_request_t r{};
    r.step = step.step;
    r.request = seq.request;
    r.rank = static_cast<uint16_t>(rank_);
    r.index = static_cast<uint16_t>(i);
    r.start = static_cast<uint32_t>(seq.start);
    r.tokens = static_cast<uint32_t>(seq.tokens.size());
    r.drafts = seq.last_is_draft ? 1 : 0;
    r.accepted = static_cast<uint32_t>(outputs_[i].accepted);
    r.prompt_tokens = seq.prompt_tokens;
    const auto load = std::find_if(step.loads.begin(), step.loads.end(),
                                   [&](const LoadOrder& l) { return l.request == seq.request; });
    r.transfer = load == step.loads.end() ? 0 : load->transfer;
    HITPROOF_CALL(step_request, (&r));
  }
}

// A state page is announced where the step ended on a checkpoint, by position or by what the
// recurrence has really folded in: in a sound engine these are one, and it is the second that is
// announced.
void StepExecutor::announce_states(const Step& step) {
  if (!hitproof_state) return;
  for (size_t s = 0; s < step.seqs.size(); ++s) {
    const SeqOrder& seq = step.seqs[s];
    const int accepted = outputs_[s].accepted;
    const int end = seq.start + accepted;
    for (int g = 0; g < num_state_groups; ++g) {
      const StateOrder& slots = seq.state[static_cast<size_t>(g)];
      const BlockRef& block = slots.out[seq.prefill || accepted < 2 ? 0 : 1];
      if (block.block == 0) continue;
      const int64_t folded = model_.folded_tokens(g, block.block);
      if (folded <= 0 ||
          (end % geometry_.block_tokens != 0 && folded % geometry_.block_tokens != 0))
        continue;
      for (const CacheEntry& e : geometry_.entries) {
        if (e.kind != EntryKind::state || e.engine_group != 2 + g) continue;
        hitproof_state_t t{};
        t.request = seq.request;
        t.step = step.step;
        t.address = memory_.page(e, block.block);
        t.stream = compute_.get();
        t.block = static_cast<uint32_t>(block.block);
        t.generation = block.generation;
        t.tokens = static_cast<uint32_t>(folded);
        t.rank = static_cast<uint16_t>(rank_);
        t.entry = static_cast<uint16_t>(e.index);
        hitproof_state(&t);
      }
    }
  }
}

} // namespace hitproof::engine
