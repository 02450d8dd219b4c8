#include "engine/model/forward.h"
#include "tests/model/harness.h"

#include <span>

namespace hitproof::engine::testing {

StackRun run_stack(const ModelConfig& config, int kda_chunk, uint64_t seed,
                   const std::vector<int32_t>& ids, const std::vector<int>& ends) {
  const CacheGeometry geometry(config, 1, 1);
  std::vector<int32_t> attn_blocks;
  const int blocks = static_cast<int>(ids.size()) / geometry.block_tokens + 1;
  for (int i = 0; i < blocks; ++i)
    attn_blocks.push_back(10 + i);
  RankMemory memory(geometry, 10 + blocks);
  const auto collectives = single_rank_collectives();
  kernels::KernelProfile profile;
  profile.kda_chunk = kda_chunk;
  Forward forward(config, geometry, profile, recipe_for(config), seed, 0, 1, *collectives,
                  memory.view());

  StackRun run;
  StateSlots state[num_state_groups];
  int begin = 0;
  for (const int end : ends) {
    SeqInput in;
    in.start = begin;
    in.tokens = std::span<const int32_t>(ids).subspan(static_cast<size_t>(begin),
                                                      static_cast<size_t>(end - begin));
    in.prefill = end - begin > 1;
    in.attn_blocks = attn_blocks;
    in.tail_block = 1;
    for (int g = 0; g < num_state_groups; ++g) {
      state[g].out[0] = state[g].in == 2 + g ? 5 + g : 2 + g;
      in.state[g] = state[g];
    }
    const StepLayout layout = lay_out(config, geometry, false, std::span(&in, 1));
    const RowGroup rows(*collectives, layout.rows());
    const float* hidden = forward.stack.forward(forward.weights, rows, layout);
    run.hidden.insert(run.hidden.end(), hidden,
                      hidden + static_cast<ptrdiff_t>(rows.rows()) * config.hidden);
    forward.sampler.choose(forward.weights.lm_head, hidden, rows.rows());
    for (int r = 0; r < rows.rows(); ++r) {
      const std::span<const float> logits = forward.sampler.logits(r);
      run.logits.insert(run.logits.end(), logits.begin(), logits.end());
    }
    for (StateSlots& s : state)
      s.in = s.out[0];
    begin = end;
  }
  return run;
}

} // namespace hitproof::engine::testing
