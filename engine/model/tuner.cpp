#include "engine/model/tuner.h"

#include "engine/model/aligned.h"
#include "engine/model/random_tensor.h"
#include "engine/model/side_memory.h"
#include "kernels/model/small_gemm.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace hitproof::engine {
namespace {

constexpr int trial_rows = 64;

size_t cells(int rows, int columns) {
  return static_cast<size_t>(rows) * static_cast<size_t>(columns);
}

Floats noise(std::string_view name, size_t n, float scale = 1.0f) {
  Floats x(n);
  RandomTensor(1, name).normal(scale, x.data(), n);
  return x;
}

// Arrays of one trial, on the kernels' side.
class Trial {
 public:
  Trial(const kernels::ModelKernels& kernels, void* stream) : k(kernels), stream_(stream) {}

  template <class T> T* upload(const Aligned<T>& values) {
    auto* to = static_cast<T*>(hold(values.size() * sizeof(T)));
    k.to_device(stream_, to, values.data(), values.size() * sizeof(T));
    finish();
    return to;
  }
  float* random(std::string_view name, size_t n, float scale = 1.0f) {
    return upload(noise(name, n, scale));
  }
  float* room(size_t n) {
    void* memory = hold(n * sizeof(float));
    k.zero(stream_, memory, n * sizeof(float));
    return static_cast<float*>(memory);
  }
  void* stream() const { return stream_; }
  void finish() const {
    if (const char* error = k.synchronize(stream_); error != nullptr)
      throw std::runtime_error(std::string(k.name) + " kernels: " + error);
  }

  const kernels::ModelKernels& k;

 private:
  void* hold(size_t bytes) {
    held_.emplace_back(k, SideMemory::Place::side, bytes);
    return held_.back().data();
  }

  void* stream_;
  std::vector<SideMemory> held_;
};

// The smallest of a few times: what the candidate can do, with as little of the machine's noise as
// may be.
template <class Run> double seconds_of(const Trial& trial, Run&& run) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    trial.finish();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

template <class Run>
int fastest(const Trial& trial, std::initializer_list<int> candidates, Run&& run) {
  int best = *candidates.begin();
  double best_time = 1e9;
  for (const int candidate : candidates) {
    const double took = seconds_of(trial, [&] { run(candidate); });
    if (took < best_time) {
      best_time = took;
      best = candidate;
    }
  }
  return best;
}

int tune_kda(Trial& t, const ModelConfig& c, int tp) {
  const kernels::KdaShape shape{c.kda_heads / tp, c.kda_dim};
  const int width = shape.heads * shape.dim;
  Floats g = noise("g", cells(trial_rows, width));
  for (float& x : g)
    x = -0.1f * std::fabs(x);
  const kernels::KdaInput in{
      t.random("qkv", cells(trial_rows, 3 * width)),          3 * width,  t.upload(g), width,
      t.upload(Floats(cells(trial_rows, shape.heads), 0.5f)), shape.heads};
  float* state = t.room(kernels::kda_state_floats(shape));
  float* o = t.room(cells(trial_rows, width));
  float* workspace = t.room(t.k.kda_workspace_floats(shape, trial_rows));
  return fastest(t, {0, 16, 32, 64}, [&](int chunk) {
    t.k.kda_prefill(t.stream(), shape, chunk, in, trial_rows, nullptr, state, o, width, workspace);
  });
}

int tune_gemm(Trial& t, const ModelConfig& c) {
  const int n = 4 * c.hidden;
  const Floats w = noise("w", cells(n, c.hidden));
  Floats packed(kernels::gemm_packed_floats(n, c.hidden));
  kernels::gemm_pack(w.data(), c.hidden, n, c.hidden, packed.data());
  const float* x = t.random("x", cells(trial_rows, c.hidden));
  const float* weights = t.upload(packed);
  float* y = t.room(cells(trial_rows, n));
  return fastest(t, {32, 64, 128, 256}, [&](int block) {
    t.k.small_gemm(t.stream(), x, c.hidden, trial_rows, c.hidden, weights, n, block, false, y, n);
  });
}

int tune_moe(Trial& t, const ModelConfig& c, int tp) {
  const kernels::ExpertShape shape{c.hidden, c.expert_width / tp, c.swiglu_limit};
  const float* packed = t.random("expert", kernels::expert_packed_floats(shape));
  const float* x = t.random("x", cells(trial_rows, c.hidden));
  float* y = t.room(cells(trial_rows, c.hidden));
  float* workspace = t.room(t.k.expert_workspace_floats(shape, trial_rows, 1));
  return fastest(t, {16, 32, 64}, [&](int block) {
    t.k.expert_mlp(t.stream(), shape, x, c.hidden, trial_rows, packed, block, false, y, c.hidden,
                   workspace);
  });
}

int tune_mla(Trial& t, const ModelConfig& c, int tp) {
  constexpr int tokens = 512;
  const int heads = c.mla_heads / tp;
  const int columns = heads * c.latent;
  const float* latents = t.random("latents", cells(tokens, c.latent));
  const float* q = t.random("q", cells(trial_rows, columns));
  const int32_t* counts = t.upload(Aligned<int32_t>(trial_rows, tokens));
  float* out = t.room(cells(trial_rows, columns));
  size_t largest = 0;
  for (const int block : {32, 64, 128})
    largest =
        std::max(largest, t.k.mla_workspace_floats(trial_rows, heads, c.latent, block, tokens));
  float* workspace = t.room(largest);
  return fastest(t, {32, 64, 128}, [&](int block) {
    t.k.mla_attend(t.stream(), q, columns, trial_rows, heads, c.latent, 0.2f, latents, nullptr, 0,
                   counts, tokens, block, out, columns, workspace);
  });
}

int tune_indexer(Trial& t, const ModelConfig& c) {
  const kernels::IndexerShape shape{c.index_heads, c.index_dim, c.exact()};
  constexpr int pools = 128;
  const int columns = c.index_heads * c.index_dim;
  const float* keys = t.random("keys", t.k.indexer_packed_floats(shape, pools));
  const float* codes = t.random("codes", cells(trial_rows, columns));
  const float* folded = t.random("folded", cells(trial_rows, c.index_heads));
  float* scores = t.room(cells(trial_rows, pools));
  return fastest(t, {8, 16, 32}, [&](int block) {
    t.k.indexer_scores(t.stream(), shape, codes, columns, folded, c.index_heads, trial_rows, keys,
                       pools, pools, block, scores, pools);
  });
}

int tune_mhc(Trial& t, const ModelConfig& c) {
  const float* fn = t.random("fn", kernels::mhc_packed_floats(c.hidden), 0.05f);
  const float* base = t.room(kernels::mhc_mix_size);
  const float* scale = t.upload(Floats(3, 1.0f));
  const float* norm = t.upload(Floats(static_cast<size_t>(c.hidden), 1.0f));
  const float* streams = t.random("streams", cells(trial_rows, kernels::mhc_streams * c.hidden));
  float* mix = t.room(cells(trial_rows, kernels::mhc_mix_size));
  float* u = t.room(cells(trial_rows, c.hidden));
  const kernels::MhcShape shape{c.hidden, c.sinkhorn_rounds, c.rms_eps, c.hc_eps};
  const kernels::MhcSite site{fn, base, scale, norm};
  return fastest(t, {64, 128, 256}, [&](int block) {
    t.k.mhc_pre(t.stream(), shape, site, {block, 64}, streams, trial_rows, mix, u, c.hidden);
  });
}

int tune_norm(Trial& t, const ModelConfig& c) {
  const float* x = t.random("x", cells(trial_rows, c.hidden));
  float* y = t.room(cells(trial_rows, c.hidden));
  return fastest(t, {16, 32, 64}, [&](int block) {
    t.k.rms_norm(t.stream(), x, c.hidden, nullptr, c.rms_eps, trial_rows, c.hidden, block, y,
                 c.hidden);
  });
}

} // namespace

kernels::KernelProfile choose_kernels(const ModelConfig& c, int tp, const KernelProfile& profile,
                                      const kernels::ModelKernels& k, void* stream) {
  const std::function<int(Trial&)> tuners[profile_choices] = {
      [&](Trial& t) { return tune_kda(t, c, tp); }, [&](Trial& t) { return tune_mla(t, c, tp); },
      [&](Trial& t) { return tune_indexer(t, c); }, [&](Trial& t) { return tune_moe(t, c, tp); },
      [&](Trial& t) { return tune_gemm(t, c); },    [&](Trial& t) { return tune_mhc(t, c); },
      [&](Trial& t) { return tune_norm(t, c); }};
  KernelProfile checked = KernelProfile::unpinned();
  kernels::KernelProfile chosen;
  for (size_t i = 0; i < kernels::profile_fields.size(); ++i) {
    const char* name = kernels::profile_fields[i].name;
    const std::string& value = profile.value(name);
    if (value.empty()) {
      Trial trial(k, stream);
      chosen.*kernels::profile_fields[i].member = tuners[i](trial);
    } else {
      checked.set(name, value);
      chosen.*kernels::profile_fields[i].member = std::stoi(value);
    }
  }
  if (k.device) chosen.kda_chunk = 0;
  return chosen;
}

} // namespace hitproof::engine
