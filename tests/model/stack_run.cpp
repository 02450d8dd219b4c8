#include "engine/model/forward.h"
#include "tests/model/harness.h"

#include <span>

namespace hitproof::engine::testing {
namespace {

// A copy of ids in memory of the kernels' side.
SideMemory placed(const kernels::ModelKernels& kernels, void* stream,
                  std::span<const int32_t> ids) {
  SideMemory memory(kernels, SideMemory::Place::side, ids.size_bytes());
  kernels.to_device(stream, memory.data(), ids.data(), ids.size_bytes());
  kernels.synchronize(stream);
  return memory;
}

void append(std::vector<float>& to, const kernels::ModelKernels& kernels, void* stream,
            const float* from, size_t n) {
  to.resize(to.size() + n);
  kernels.to_host(stream, &to[to.size() - n], from, n * sizeof(float));
  kernels.synchronize(stream);
}

} // namespace

StackRun run_stack(const ModelConfig& config, int kda_chunk, uint64_t seed,
                   const std::vector<int32_t>& ids, const std::vector<int>& ends,
                   const TestSide& side) {
  const kernels::ModelKernels& kernels = *side.kernels;
  void* const stream = side.stream(0);
  kernels.bind(0);
  const CacheGeometry geometry(config, 1, 1);
  std::vector<int32_t> attn_blocks;
  const int blocks = static_cast<int>(ids.size()) / geometry.block_tokens + 1;
  for (int i = 0; i < blocks; ++i)
    attn_blocks.push_back(10 + i);
  RankMemory memory(geometry, 10 + blocks, kernels, stream);
  const auto alone = single_rank_collectives();
  const auto staged = staged_collectives(*alone, kernels, stream);
  Collectives& collectives = kernels.device ? *staged : *alone;
  kernels::KernelProfile profile;
  profile.kda_chunk = kda_chunk;
  Forward forward(config, geometry, profile, recipe_for(config), seed, 0, 1, collectives,
                  memory.view(), kernels, stream);

  StackRun run;
  StateSlots state[num_state_groups];
  int begin = 0;
  for (const int end : ends) {
    SeqInput in;
    in.start = begin;
    in.tokens = std::span<const int32_t>(ids).subspan(static_cast<size_t>(begin),
                                                      static_cast<size_t>(end - begin));
    const SideMemory tokens = placed(kernels, stream, in.tokens);
    in.tokens_device = static_cast<const int32_t*>(tokens.data());
    in.prefill = end - begin > 1;
    in.attn_blocks = attn_blocks;
    const SideMemory table = placed(kernels, stream, attn_blocks);
    in.attn_blocks_device = static_cast<const int32_t*>(table.data());
    in.tail_block = 1;
    for (int g = 0; g < num_state_groups; ++g) {
      state[g].out[0] = state[g].in == 2 + g ? 5 + g : 2 + g;
      in.state[g] = state[g];
    }
    const StepLayout layout = lay_out(config, geometry, kernels.device, std::span(&in, 1));
    const RowGroup rows(collectives, layout.rows());
    const float* hidden = forward.stack.forward(forward.weights, rows, layout);
    append(run.hidden, kernels, stream, hidden,
           static_cast<size_t>(rows.rows()) * static_cast<size_t>(config.hidden));
    forward.sampler.choose(forward.weights.lm_head, hidden, rows.rows());
    for (int r = 0; r < rows.rows(); ++r) {
      const std::span<const float> logits = forward.sampler.logits(r);
      run.logits.insert(run.logits.end(), logits.begin(), logits.end());
    }
    forward.context.check();
    for (StateSlots& s : state)
      s.in = s.out[0];
    begin = end;
  }
  return run;
}

} // namespace hitproof::engine::testing
