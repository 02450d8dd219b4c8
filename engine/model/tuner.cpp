#include "engine/model/tuner.h"

#include "engine/model/aligned.h"
#include "engine/model/random_tensor.h"
#include "kernels/model/indexer.h"
#include "kernels/model/kda.h"
#include "kernels/model/mhc.h"
#include "kernels/model/mla.h"
#include "kernels/model/moe.h"
#include "kernels/model/norm.h"
#include "kernels/model/small_gemm.h"

#include <chrono>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace hitproof::engine {
namespace {

constexpr int trial_rows = 64;

Floats noise(std::string_view name, size_t n, float scale = 1.0f) {
  Floats x(n);
  RandomTensor(1, name).normal(scale, x.data(), n);
  return x;
}

// The smallest of a few times: what the candidate can do, with as little of the machine's noise as
// may be.
template <class Run> double seconds_of(Run&& run) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

template <class Run> int fastest(std::initializer_list<int> candidates, Run&& run) {
  int best = *candidates.begin();
  double best_time = 1e9;
  for (const int candidate : candidates) {
    const double took = seconds_of([&] { run(candidate); });
    if (took < best_time) {
      best_time = took;
      best = candidate;
    }
  }
  return best;
}

int tune_kda(const ModelConfig& c, int tp) {
  const kernels::KdaShape shape{c.kda_heads / tp, c.kda_dim};
  const int width = shape.heads * shape.dim;
  const auto rows = static_cast<size_t>(trial_rows);
  const Floats qkv = noise("qkv", rows * 3 * static_cast<size_t>(width));
  Floats g = noise("g", rows * static_cast<size_t>(width));
  for (float& x : g)
    x = -0.1f * std::fabs(x);
  const Floats beta(rows * static_cast<size_t>(shape.heads), 0.5f);
  Floats state(kernels::kda_state_floats(shape)), o(rows * static_cast<size_t>(width));
  Floats workspace(kernels::kda_workspace_floats(shape));
  const kernels::KdaInput in{qkv.data(), 3 * width, g.data(), width, beta.data(), shape.heads};
  return fastest({0, 16, 32, 64}, [&](int chunk) {
    kernels::kda_prefill(shape, chunk, in, trial_rows, nullptr, state.data(), o.data(), width,
                         workspace.data());
  });
}

int tune_gemm(const ModelConfig& c) {
  const int n = 4 * c.hidden;
  const Floats w = noise("w", static_cast<size_t>(n * c.hidden)),
               x = noise("x", static_cast<size_t>(trial_rows * c.hidden));
  Floats packed(kernels::gemm_packed_floats(n, c.hidden)), y(static_cast<size_t>(trial_rows * n));
  kernels::gemm_pack(w.data(), c.hidden, n, c.hidden, packed.data());
  return fastest({32, 64, 128, 256}, [&](int block) {
    kernels::small_gemm(x.data(), c.hidden, trial_rows, c.hidden, packed.data(), n, block, false,
                        y.data(), n);
  });
}

int tune_moe(const ModelConfig& c, int tp) {
  const kernels::ExpertShape shape{c.hidden, c.expert_width / tp, c.swiglu_limit};
  const Floats packed = noise("expert", kernels::expert_packed_floats(shape));
  const Floats x = noise("x", static_cast<size_t>(trial_rows * c.hidden));
  Floats y(x.size()), workspace(kernels::expert_workspace_floats(shape));
  return fastest({16, 32, 64}, [&](int block) {
    kernels::expert_mlp(shape, x.data(), c.hidden, trial_rows, packed.data(), block, false,
                        y.data(), c.hidden, workspace.data());
  });
}

int tune_mla(const ModelConfig& c, int tp) {
  const int heads = c.mla_heads / tp;
  const Floats latents = noise("latents", static_cast<size_t>(512 * c.latent));
  Floats q = noise("q", static_cast<size_t>(trial_rows * heads * c.latent)), out(q.size());
  const Aligned<int32_t> counts(trial_rows, 512);
  return fastest({32, 64, 128}, [&](int block) {
    Floats workspace(kernels::mla_workspace_floats(c.latent, block));
    kernels::mla_attend(q.data(), heads * c.latent, trial_rows, heads, c.latent, 0.2f,
                        latents.data(), nullptr, 0, counts.data(), block, out.data(),
                        heads * c.latent, workspace.data());
  });
}

int tune_indexer(const ModelConfig& c) {
  const kernels::IndexerShape shape{c.index_heads, c.index_dim, c.exact()};
  const int pools = 128;
  const Floats keys = noise("keys", kernels::indexer_packed_floats(shape, pools));
  const Floats codes =
      noise("codes", static_cast<size_t>(trial_rows * c.index_heads * c.index_dim));
  const Floats folded = noise("folded", static_cast<size_t>(trial_rows * c.index_heads));
  Floats scores(static_cast<size_t>(trial_rows * pools));
  return fastest({8, 16, 32}, [&](int block) {
    kernels::indexer_scores(shape, codes.data(), c.index_heads * c.index_dim, folded.data(),
                            c.index_heads, trial_rows, keys.data(), pools, pools, block,
                            scores.data(), pools);
  });
}

int tune_mhc(const ModelConfig& c) {
  const Floats fn = noise("fn", kernels::mhc_packed_floats(c.hidden), 0.05f);
  const Floats base(kernels::mhc_mix_size, 0.0f), scale(3, 1.0f),
      norm(static_cast<size_t>(c.hidden), 1.0f);
  const Floats streams = noise("streams", static_cast<size_t>(trial_rows * 4 * c.hidden));
  Floats mix(static_cast<size_t>(trial_rows * kernels::mhc_mix_size)),
      u(static_cast<size_t>(trial_rows * c.hidden));
  const kernels::MhcShape shape{c.hidden, c.sinkhorn_rounds, c.rms_eps, c.hc_eps};
  const kernels::MhcSite site{fn.data(), base.data(), scale.data(), norm.data()};
  return fastest({64, 128, 256}, [&](int block) {
    kernels::mhc_pre(shape, site, {block, 64}, streams.data(), trial_rows, mix.data(), u.data(),
                     c.hidden);
  });
}

int tune_norm(const ModelConfig& c) {
  Floats x = noise("x", static_cast<size_t>(trial_rows * c.hidden)), y(x.size());
  return fastest({16, 32, 64}, [&](int block) {
    kernels::rms_norm(x.data(), c.hidden, nullptr, c.rms_eps, trial_rows, c.hidden, block, y.data(),
                      c.hidden);
  });
}

} // namespace

kernels::KernelProfile choose_kernels(const ModelConfig& c, int tp, const KernelProfile& profile) {
  const std::function<int()> tuners[profile_choices] = {
      [&] { return tune_kda(c, tp); }, [&] { return tune_mla(c, tp); },
      [&] { return tune_indexer(c); }, [&] { return tune_moe(c, tp); },
      [&] { return tune_gemm(c); },    [&] { return tune_mhc(c); },
      [&] { return tune_norm(c); }};
  KernelProfile checked = KernelProfile::unpinned();
  kernels::KernelProfile chosen;
  for (size_t i = 0; i < kernels::profile_fields.size(); ++i) {
    const char* name = kernels::profile_fields[i].name;
    const std::string& value = profile.value(name);
    if (value.empty()) {
      chosen.*kernels::profile_fields[i].member = tuners[i]();
    } else {
      checked.set(name, value);
      chosen.*kernels::profile_fields[i].member = std::stoi(value);
    }
  }
  return chosen;
}

} // namespace hitproof::engine
