#include "engine/model/rank_model.h"

#include "engine/model/forward.h"
#include "engine/model/tuner.h"
#include "kernels/model/cpu.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace hitproof::engine {
namespace {

constexpr int32_t no_token = -1; // gather_rows gives zeros

// What the table cannot do, in words; empty where all is well.
std::string refuse(const kernels::ModelKernels& k, const ModelConfig& config) {
  const std::string name = k.name;
  if (k.table_bytes != sizeof(kernels::ModelKernels))
    return "the " + name + " kernels are of another build than the engine";
  if (config.exact() && (k.kda_conv_silu_exact == nullptr || k.kda_conv_state_exact == nullptr))
    return "the " + name + " kernels have no exact numerics, which preset " + config.name +
           " needs";
  return {};
}

} // namespace

class RankModel::Impl {
 public:
  Impl(const ModelConfig& config, const CacheGeometry& geometry, const KernelProfile& profile,
       uint64_t seed, int rank, int tp, Collectives& collectives, CacheMemory memory,
       const kernels::ModelKernels& kernels, void* stream)
      : forward_(config, geometry, choose_kernels(config, tp, profile, kernels, stream),
                 recipe_for(config), seed, rank, tp, collectives, memory, kernels, stream) {}

  void step(std::span<const SeqInput> inputs, std::span<SeqOutput> outputs) {
    if (inputs.size() != outputs.size())
      throw std::logic_error("a step needs one output for each input");
    if (inputs.empty()) return;
    const ModelContext& context = forward_.context;
    const StepLayout layout =
        lay_out(forward_.config, forward_.geometry, context.kernels.device, inputs);
    const RowGroup rows(context.collectives, layout.rows());
    // Rows to sample, tokens after own rows, rows to draft from.
    forward_.indices.begin(3 * static_cast<size_t>(layout.rows()));
    const float* hidden = forward_.stack.forward(forward_.weights, rows, layout);
    sample(inputs, outputs, layout, rows, hidden);
    propose(inputs, outputs, layout, rows, hidden);
    count_folded(layout);
    context.check();
  }

  Forward& forward() { return forward_; }
  const Forward& forward() const { return forward_; }

  int64_t& folded(int group, int block) {
    auto& list = folded_.at(static_cast<size_t>(group));
    if (list.size() <= static_cast<size_t>(block)) list.resize(static_cast<size_t>(block) + 1, -1);
    return list[static_cast<size_t>(block)];
  }
  int64_t folded(int group, int block) const {
    const auto& list = folded_.at(static_cast<size_t>(group));
    return static_cast<size_t>(block) < list.size() ? list[static_cast<size_t>(block)] : -1;
  }

 private:
  void sample(std::span<const SeqInput> inputs, std::span<SeqOutput> outputs,
              const StepLayout& layout, const RowGroup& rows, const float* hidden);
  void propose(std::span<const SeqInput> inputs, std::span<SeqOutput> outputs,
               const StepLayout& layout, const RowGroup& rows, const float* hidden);
  void count_folded(const StepLayout& layout);

  Forward forward_;
  Scratch<float> sampled_hidden_;
  std::array<std::vector<int64_t>, num_state_groups> folded_;
};

// Logits of the rows that decide a token: every row of a decode step, the last of a prompt.
void RankModel::Impl::sample(std::span<const SeqInput> inputs, std::span<SeqOutput> outputs,
                             const StepLayout& layout, const RowGroup& rows, const float* hidden) {
  std::vector<int32_t> wanted;
  for (const Segment& s : layout.segments) {
    const SeqInput& in = inputs[static_cast<size_t>(s.input)];
    if (!in.prefill) {
      for (int r = 0; r < s.rows; ++r)
        wanted.push_back(rows.place(s.row + r));
    } else if (in.next_token < 0) {
      wanted.push_back(rows.place(s.row + s.rows - 1));
    }
  }
  const auto count = static_cast<int>(wanted.size());
  const float* chosen = share_rows(forward_.context, rows, hidden, forward_.config.hidden,
                                   forward_.indices.put(wanted), count, sampled_hidden_);
  const std::vector<Choice> choices =
      forward_.sampler.choose(forward_.weights.lm_head, chosen, count);

  size_t next = 0;
  for (const Segment& s : layout.segments) {
    const SeqInput& in = inputs[static_cast<size_t>(s.input)];
    SeqOutput& out = outputs[static_cast<size_t>(s.input)];
    out = SeqOutput{};
    const auto take = [&out](const Choice& c) {
      out.sampled.push_back(c.token);
      out.logits_sha256.push_back(c.logits_sha256);
      out.margin.push_back(c.margin);
    };
    if (in.prefill) {
      out.accepted = s.rows;
      if (in.next_token < 0) take(choices[next++]);
      continue;
    }
    out.accepted = 1;
    take(choices[next]);
    // The draft stands where the model would have said the same; its row has then decided one more.
    if (in.last_is_draft && choices[next].token == in.tokens[1]) {
      out.accepted = 2;
      take(choices[next + 1]);
    }
    next += static_cast<size_t>(s.rows);
  }
}

// The MTP layer sees every accepted position with the token after it, and drafts where a token was
// decided.
void RankModel::Impl::propose(std::span<const SeqInput> inputs, std::span<SeqOutput> outputs,
                              const StepLayout& layout, const RowGroup& rows, const float* hidden) {
  std::vector<int32_t> next(static_cast<size_t>(layout.rows()), 0);
  std::vector<Segment> accepted;
  std::vector<Segment> drafting;
  std::vector<int32_t> last;
  for (const Segment& whole : layout.segments) {
    const SeqInput& in = inputs[static_cast<size_t>(whole.input)];
    const SeqOutput& out = outputs[static_cast<size_t>(whole.input)];
    Segment s = whole;
    s.rows = out.accepted;
    for (int r = 0; r < s.rows; ++r) {
      int32_t token = 0;
      if (!in.prefill) {
        token = out.sampled[static_cast<size_t>(r)];
      } else if (r + 1 < s.rows) {
        token = in.tokens[static_cast<size_t>(r) + 1];
      } else {
        token = in.next_token >= 0 ? in.next_token : out.sampled[0];
      }
      next[static_cast<size_t>(s.row + r)] = s.start + r == 0 ? no_token : token;
    }
    accepted.push_back(s);
    if (out.sampled.empty()) continue;
    drafting.push_back(s);
    last.push_back(rows.place(s.row + s.rows - 1));
  }
  const auto own =
      std::span(next).subspan(static_cast<size_t>(rows.first()), static_cast<size_t>(rows.count()));
  forward_.mtp.append(forward_.weights, rows, accepted, forward_.indices.put(own), hidden);
  const std::vector<int32_t> drafts =
      forward_.mtp.draft(forward_.weights, rows, drafting, forward_.indices.put(last));
  for (size_t i = 0; i < drafting.size(); ++i)
    outputs[static_cast<size_t>(drafting[i].input)].draft = drafts[i];
}

void RankModel::Impl::count_folded(const StepLayout& layout) {
  for (const Segment& s : layout.segments) {
    for (int g = 0; g < num_state_groups; ++g) {
      const StateSlots& slots = s.state[g];
      // What the start block really holds counts, not where the schedule believes to be.
      const int64_t before = slots.in == 0 ? 0 : folded(g, slots.in);
      if (s.prefill) {
        folded(g, slots.out[0]) = before < 0 ? -1 : before + s.rows;
      } else {
        for (int i = 0; i < s.rows; ++i)
          folded(g, slots.out[i]) = before < 0 ? -1 : before + i + 1;
      }
    }
  }
}

RankModel::RankModel(const ModelConfig& config, const CacheGeometry& geometry,
                     const KernelProfile& profile, uint64_t weight_seed, int rank, int tp,
                     Collectives& collectives, CacheMemory memory,
                     const kernels::ModelKernels& kernels, void* stream) {
  if (!kernels::cpu_supported()) throw std::invalid_argument(kernels::cpu_support_message());
  if (std::string problem = check_config(config, tp); !problem.empty())
    throw std::invalid_argument(problem);
  if (std::string problem = refuse(kernels, config); !problem.empty())
    throw std::invalid_argument(problem);
  if (rank < 0 || rank >= tp || collectives.rank() != rank || collectives.size() != tp ||
      geometry.tp != tp) {
    throw std::invalid_argument("rank, collectives and cache geometry do not belong together");
  }
  impl_ = std::make_unique<Impl>(config, geometry, profile, weight_seed, rank, tp, collectives,
                                 memory, kernels, stream);
}

RankModel::~RankModel() = default;

void RankModel::step(std::span<const SeqInput> inputs, std::span<SeqOutput> outputs) {
  impl_->step(inputs, outputs);
}

void RankModel::check() const { impl_->forward().context.check(); }

KernelProfile RankModel::profile_used() const {
  KernelProfile used = KernelProfile::unpinned();
  const kernels::KernelProfile& values = impl_->forward().context.choices.used();
  for (size_t i = 0; i < used.choices.size(); ++i) {
    const int value = values.*kernels::profile_fields[i].member;
    if (value != ChoicesInForce::not_used) used.choices[i].value = std::to_string(value);
  }
  return used;
}

std::array<uint8_t, 32> RankModel::weights_sha256() const {
  return impl_->forward().weights.digest;
}

int64_t RankModel::folded_tokens(int state_group, int block) const {
  return std::as_const(*impl_).folded(state_group, block);
}

void RankModel::set_folded_tokens(int state_group, int block, int64_t tokens) {
  impl_->folded(state_group, block) = tokens;
}

void RankModel::break_tail_writes(bool on) { impl_->forward().context.contiguous_tail_writes = on; }

} // namespace hitproof::engine
