// Time of each model kernel at the dimensions of preset `tiny`: nanoseconds a token and call, and what
// that makes over 45 layers and four ranks. Best of many passes over tiles of 64 rows, one thread.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "kernels/model/cpu.h"
#include "kernels/model/indexer.h"
#include "kernels/model/kda.h"
#include "kernels/model/mhc.h"
#include "kernels/model/mla.h"
#include "kernels/model/moe.h"
#include "kernels/model/norm.h"
#include "kernels/model/small_gemm.h"

namespace hk = hitproof::kernels;

namespace {

constexpr int tile = 64;
constexpr int hidden = 64;
constexpr int width = 192;  // 3 KDA heads of 64
constexpr int channels = 3 * width;
constexpr int context = 3584;

// Cache-line aligned, as the engine's buffers are: unaligned vectors cost the convolution double.
struct Buffer {
  std::unique_ptr<float, void (*)(void*)> memory;
  Buffer(size_t n, float low, float high)
      : memory(static_cast<float*>(std::aligned_alloc(64, (n * 4 + 63) / 64 * 64)), std::free) {
    std::mt19937 engine(static_cast<uint32_t>(n));
    std::uniform_real_distribution<float> d(low, high);
    for (size_t i = 0; i < n; ++i) memory.get()[i] = d(engine);
  }
  explicit Buffer(size_t n) : Buffer(n, -1.0f, 1.0f) {}
  operator float*() const { return memory.get(); }
};

double total_ms = 0.0;

// calls: how often a prefill token meets the kernel, all layers and ranks together.
void measure(const char* name, int rows, double calls, const std::function<void()>& run) {
  using clock = std::chrono::steady_clock;
  double best = 1e30, spent = 0.0;
  for (int pass = 0; pass < 2000 && (spent < 0.3 || pass < 5); ++pass) {
    const auto begin = clock::now();
    run();
    const double s = std::chrono::duration<double>(clock::now() - begin).count();
    best = std::min(best, s);
    spent += s;
  }
  const double ns = best / rows * 1e9;
  std::printf("%-42s %9.1f ns/token %7.1f calls/token %8.4f ms/token\n", name, ns, calls,
              ns * calls * 1e-6);
  total_ms += ns * calls * 1e-6;
}

void bench_kda() {
  const hk::KdaShape shape{3, 64};
  const Buffer raw(size_t{tile} * channels), weight(size_t{4} * channels), f(size_t{tile} * width);
  const Buffer b(tile * 3), a_exp(3, 0.5f, 2.0f), bias(width, -4.5f, -1.5f), norm(width);
  const Buffer conv(size_t{tile} * channels), g(size_t{tile} * width), beta(tile * 3);
  const Buffer o(size_t{tile} * width), y(size_t{tile} * width);
  const Buffer state(hk::kda_state_floats(shape)), other(hk::kda_state_floats(shape));
  const Buffer workspace(hk::kda_workspace_floats(shape));
  std::vector<uint16_t> history(hk::kda_conv_bytes(shape) / 2), next(history.size());
  const double calls = 34 * 4;
  measure("kda_conv_silu", tile, calls, [&] {
    hk::kda_conv_silu(shape, raw, channels, tile, weight, history.data(), conv, channels);
  });
  measure("kda_gates", tile, calls, [&] {
    hk::kda_gates(shape, f, width, b, 3, tile, a_exp, bias, g, width, beta, 3);
  });
  const hk::KdaInput in{conv, channels, g, width, beta, 3};
  measure("kda_prefill recurrent", tile, calls, [&] {
    hk::kda_prefill(shape, 0, in, tile, nullptr, state, o, width, workspace);
  });
  measure("kda_output_gate", tile, calls, [&] {
    hk::kda_output_gate(shape, o, width, f, width, tile, norm, 1e-5f, 64, y, width);
  });
  for (const int chunk : {16, 32, 64}) {
    char name[64];
    std::snprintf(name, sizeof name, "kda_prefill chunk %d (not summed)", chunk);
    measure(name, tile, 0, [&] {
      hk::kda_prefill(shape, chunk, in, tile, nullptr, state, o, width, workspace);
    });
  }
  float* const out[2] = {state, other};
  measure("kda_decode 2 rows (not summed)", 2, 0, [&] {
    hk::kda_decode(shape, in, 2, state, out, o, width, workspace);
  });
  measure("kda_conv_state (not summed)", 1, 0, [&] {
    hk::kda_conv_state(shape, raw, channels, 2, history.data(), next.data());
  });
}

void bench_mhc() {
  const hk::MhcShape shape{hidden};
  const Buffer fn(hk::mhc_packed_floats(hidden)), base(24), scale(3), norm(hidden);
  const Buffer streams(size_t{tile} * 4 * hidden), mix(tile * 24), u(tile * hidden), y(tile * hidden);
  const hk::MhcSite site{fn, base, scale, norm};
  measure("mhc_pre (rows split)", tile, 90, [&] {
    hk::mhc_pre(shape, site, {256, 64}, streams, tile, mix, u, hidden);
  });
  measure("mhc_post (rows split)", tile, 90,
          [&] { hk::mhc_post(y, hidden, mix, tile, hidden, streams); });
  measure("mhc_post_pre (not summed)", tile, 0, [&] {
    hk::mhc_post_pre(y, hidden, shape, site, {256, 64}, streams, tile, mix, u, hidden);
  });
}

void bench_attention() {
  const hk::IndexerShape shape{2, 32};
  const hk::LatentRecord record{16, 8, 4};
  const int block = 1792, pools = context / 4, topk = 64, picks = 4 * topk + 3;
  std::vector<uint8_t> index_pages(2 * hk::index_block_bytes(shape, block));
  std::vector<uint8_t> latent_pages(size_t{context} * hk::latent_record_bytes(record));
  std::vector<uint16_t> ring(2 * 4 * 32);
  const std::vector<int32_t> table = {0, 1};
  const hk::PagedCache keys{index_pages.data(),
                            static_cast<int64_t>(hk::index_block_bytes(shape, block)), table.data(),
                            block};
  const hk::PagedCache latents{latent_pages.data(),
                               int64_t{block} * hk::latent_record_bytes(record), table.data(), block};
  const hk::TailView tail{ring.data(), 4 * 32, 32, 1, 4};
  const Buffer ki(context * 32), gs(context * 32), ape(4 * 32), c(context * 16);
  measure("indexer_append (every rank)", context, 12 * 4, [&] {
    hk::indexer_append(shape, ki, 32, gs, 32, ape, 0, context, tail, keys);
  });
  measure("mla_append (every rank)", context, 12 * 4,
          [&] { hk::mla_append(record, c, 16, 0, context, latents); });
  const Buffer q(tile * 64), w(tile * 2), codes(tile * 64), folded(tile * 2);
  measure("indexer_queries (rows split)", tile, 12, [&] {
    hk::indexer_queries(shape, q, 64, w, 2, tile, codes, 64, folded, 2);
  });
  const Buffer packed(hk::indexer_packed_floats(shape, pools));
  measure("indexer_load_keys (per 448 rows)", 448, 12,
          [&] { hk::indexer_load_keys(shape, keys, pools, packed); });
  const Buffer workspace(hk::indexer_select_workspace_floats(pools));
  std::vector<int32_t> selected(tile * topk), counts(tile), ids(size_t{tile} * picks);
  measure("indexer_select, 896 pools (split)", tile, 12, [&] {
    hk::indexer_select(shape, codes, 64, folded, 2, context - tile, nullptr, tile, packed, pools,
                       topk, 32, selected.data(), topk, counts.data(), workspace);
  });
  measure("indexer_expand (every rank)", tile, 12 * 4, [&] {
    for (int r = 0; r < tile; ++r) {
      counts[r] = hk::indexer_expand(&selected[r * topk], topk, context - tile + r,
                                     &ids[size_t(r) * picks], picks);
    }
  });
  const Buffer all(context * 16), ql(tile * 16), ol(tile * 16);
  const Buffer attend(hk::mla_workspace_floats(16, 64));
  measure("mla_load (per 1792 rows, each rank)", 1792, 12 * 4,
          [&] { hk::mla_load(record, latents, 0, context, all); });
  measure("mla_attend, 259 tokens, 1 head", tile, 12 * 4, [&] {
    hk::mla_attend(ql, 16, tile, 1, 16, 0.17f, all, ids.data(), picks, counts.data(), 64, ol, 16,
                   attend);
  });
}

void bench_moe() {
  const hk::ExpertShape shape{hidden, 8};
  const int experts = 16, topk = 4;
  const Buffer x(tile * hidden), y(tile * hidden), logits(tile * experts, -2.0f, 2.0f), bias(experts);
  const Buffer packed(experts * hk::expert_packed_floats(shape));
  const Buffer workspace(hk::expert_workspace_floats(shape)), weights(tile * topk);
  std::vector<int32_t> ids(tile * topk), ints(hk::moe_workspace_ints(tile, experts, topk));
  measure("moe_route (rows split)", tile, 43, [&] {
    hk::moe_route(logits, experts, bias, tile, experts, topk, 2.5f, ids.data(), weights);
  });
  measure("moe_grouped, 4 experts of width 8", tile, 43 * 4, [&] {
    hk::moe_grouped(shape, x, hidden, tile, packed, experts, ids.data(), weights, topk, 64, y, hidden,
                    workspace, ints.data());
  });
  measure("expert_mlp (shared, width 8)", tile, 43 * 4, [&] {
    hk::expert_mlp(shape, x, hidden, tile, packed, 64, true, y, hidden, workspace);
  });
}

void bench_projections() {
  const Buffer x(tile * width), c(size_t{tile} * 640), w(hk::gemm_packed_floats(640, width));
  const Buffer norm(hidden);
  measure("small_gemm 64 -> 576 (q|k|v)", tile, 34 * 4, [&] {
    hk::small_gemm(x, width, tile, hidden, w, channels, 256, false, c, 640);
  });
  measure("small_gemm 64 -> 576, 1 row (not summed)", 1, 0, [&] {
    hk::small_gemm(x, width, 1, hidden, w, channels, 256, false, c, 640);
  });
  measure("small_gemm 64 -> 576, 2 rows (not summed)", 2, 0, [&] {
    hk::small_gemm(x, width, 2, hidden, w, channels, 256, false, c, 640);
  });
  measure("small_gemm 16 -> 192 (f_b, g_b)", tile, 2 * 34 * 4, [&] {
    hk::small_gemm(x, width, tile, 16, w, width, 256, false, c, 640);
  });
  measure("small_gemm 192 -> 64 (o_proj)", tile, 34 * 4, [&] {
    hk::small_gemm(x, width, tile, width, w, hidden, 256, false, c, 640);
  });
  measure("rms_norm 64", tile, 3 * 12, [&] {
    hk::rms_norm(x, hidden, norm, 1e-5f, tile, hidden, 64, c, hidden);
  });
}

}  // namespace

int main() {
  if (!hk::cpu_supported()) {
    std::fprintf(stderr, "%s\n", hk::cpu_support_message());
    return 2;
  }
  bench_kda();
  bench_mhc();
  bench_attention();
  bench_moe();
  bench_projections();
  std::printf("sum over layers and ranks: %.3f core-ms a prefill token\n", total_ms);
  return 0;
}
