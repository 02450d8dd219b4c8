#include "engine/model/weights_layers.h"
#include "kernels/model/small_gemm.h"

#include <cmath>

namespace hitproof::engine {

KdaWeights make_kda(LayerMaker& maker, const std::string& prefix) {
  const ModelConfig& c = maker.config;
  TensorSource& source = maker.source;
  const std::string at = prefix + "self_attn.";
  const int heads = c.kda_heads / maker.tp;
  const int width = heads * c.kda_dim;      // channels of this rank
  const int full = c.kda_heads * c.kda_dim; // channels of all ranks
  const int first = maker.rank * width;
  const float in_scale = 1.0f / std::sqrt(static_cast<float>(c.hidden));
  const float rank_scale = 1.0f / std::sqrt(static_cast<float>(c.kda_rank));
  const auto row = [&c](const float* w, int r) { return w + static_cast<ptrdiff_t>(r) * c.hidden; };

  KdaWeights w;
  w.in.n = 3 * width + heads + 2 * c.kda_rank;
  w.in.k = c.hidden;
  Floats in(kernels::gemm_packed_floats(w.in.n, w.in.k));
  const auto pack = [&](const float* rows, int at_row, int count) {
    kernels::gemm_pack_rows(rows, c.hidden, w.in.n, c.hidden, at_row, count, in.data());
  };
  const char* const projections[3] = {"q_proj", "k_proj", "v_proj"};
  for (int i = 0; i < 3; ++i) {
    const float* p = source.normal(at + projections[i] + ".weight", full, c.hidden, in_scale);
    pack(row(p, first), i * width, width);
  }
  const float* b = source.normal(at + "b_proj.weight", c.kda_heads, c.hidden, in_scale);
  pack(row(b, maker.rank * heads), 3 * width, heads);
  pack(source.normal(at + "f_a_proj.weight", c.kda_rank, c.hidden, in_scale), 3 * width + heads,
       c.kda_rank);
  pack(source.normal(at + "g_a_proj.weight", c.kda_rank, c.hidden, in_scale),
       3 * width + heads + c.kda_rank, c.kda_rank);
  w.in.packed = std::move(in);

  const ptrdiff_t low_rank_first = static_cast<ptrdiff_t>(first) * c.kda_rank;
  const float* f = source.normal(at + "f_b_proj.weight", full, c.kda_rank, 0.5f * rank_scale);
  w.forget = pack_projection(f + low_rank_first, width, c.kda_rank);
  const float* g = source.normal(at + "g_b_proj.weight", full, c.kda_rank, rank_scale);
  w.gate = pack_projection(g + low_rank_first, width, c.kda_rank);

  // On disk [channels][1][4]; the kernel wants a row per tap.
  Floats conv(static_cast<size_t>(c.conv_width * 3 * width));
  const char* const convs[3] = {"q_conv1d", "k_conv1d", "v_conv1d"};
  for (int i = 0; i < 3; ++i) {
    const float* taps = source.normal(at + convs[i] + ".weight", full, c.conv_width, 0.5f);
    for (int ch = 0; ch < width; ++ch) {
      for (int j = 0; j < c.conv_width; ++j) {
        conv[static_cast<size_t>(j * 3 * width + i * width + ch)] =
            taps[(first + ch) * c.conv_width + j];
      }
    }
  }
  w.conv = std::move(conv);
  const float* a_log = source.uniform(at + "A_log", 1, c.kda_heads, -maker.recipe.a_log_spread,
                                      maker.recipe.a_log_spread);
  Floats a_exp;
  for (int h = 0; h < heads; ++h)
    a_exp.push_back(std::exp(a_log[maker.rank * heads + h]));
  w.a_exp = std::move(a_exp);
  const float* dt = source.uniform(at + "dt_bias", 1, full, -4.5f, -1.5f);
  w.dt_bias = Floats(dt + first, dt + first + width);
  const float* norm = source.around_one(at + "o_norm.weight", c.kda_dim, maker.recipe.norm_spread);
  w.out_norm = Floats(norm, norm + c.kda_dim);

  const float* out = source.normal(at + "o_proj.weight", c.hidden, full,
                                   maker.recipe.output_gain / std::sqrt(static_cast<float>(full)));
  w.out.n = c.hidden;
  w.out.k = width;
  Floats packed(kernels::gemm_packed_floats(c.hidden, width));
  kernels::gemm_pack(out + first, full, c.hidden, width, packed.data());
  w.out.packed = std::move(packed);
  return w;
}

} // namespace hitproof::engine
