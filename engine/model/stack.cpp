#include "engine/model/stack.h"

#include "kernels/model/mhc.h"
#include "kernels/model/norm.h"

#include <cstring>

namespace hitproof::engine {
namespace {

kernels::MhcSite site(const HyperWeights& w) {
  return {w.fn.data(), w.base.data(), w.scale.data(), w.norm.data()};
}

} // namespace

const float* Stack::forward(const RankWeights& w, const RowGroup& rows, const StepLayout& layout) {
  const ModelConfig& c = ctx_.config;
  const int own = rows.count();
  const auto width = static_cast<size_t>(c.hidden);
  const size_t cells = static_cast<size_t>(own) * width;
  const kernels::MhcShape shape{c.hidden, c.sinkhorn_rounds, c.rms_eps, c.hc_eps};
  const kernels::MhcBlocks blocks{ctx_.choices.use(&kernels::KernelProfile::mhc_block),
                                  ctx_.choices.use(&kernels::KernelProfile::norm_block)};

  float* embedded = embedded_.get(cells);
  for (size_t r = 0; r < static_cast<size_t>(own); ++r) {
    const auto token = static_cast<size_t>(layout.tokens[r + static_cast<size_t>(rows.first())]);
    std::memcpy(embedded + r * width, w.embedding.data() + token * width, width * sizeof(float));
  }
  float* streams = streams_.get(cells * kernels::mhc_streams);
  float* mix = mix_.get(static_cast<size_t>(own) * kernels::mhc_mix_size);
  float* u = input_.get(cells);
  kernels::mhc_spread(embedded, c.hidden, own, c.hidden, streams);
  kernels::mhc_pre(shape, site(w.layers[0].attention_site), blocks, streams, own, mix, u, c.hidden);

  for (int l = 0; l < c.layers; ++l) {
    const LayerWeights& layer = w.layers[static_cast<size_t>(l)];
    const int kind_index = c.kind_index(l);
    const float* y = nullptr;
    if (c.is_dsa(l)) {
      dsa_.append(layer.dsa, kind_index, rows, layout.segments, u);
      y = dsa_.attend(layer.dsa, kind_index, rows, layout.segments);
    } else {
      y = kda_.forward(layer.kda, kind_index, rows, layout.segments, u);
    }
    kernels::mhc_post_pre(y, c.hidden, shape, site(layer.ffn_site), blocks, streams, own, mix, u,
                          c.hidden);
    y = ffn_.forward(layer.ffn, rows, u);
    if (l + 1 < c.layers) {
      const HyperWeights& next = w.layers[static_cast<size_t>(l) + 1].attention_site;
      kernels::mhc_post_pre(y, c.hidden, shape, site(next), blocks, streams, own, mix, u, c.hidden);
    } else {
      kernels::mhc_post(y, c.hidden, mix, own, c.hidden, streams);
    }
  }
  float* hidden = hidden_.get(cells);
  kernels::mhc_mean(streams, own, c.hidden, hidden, c.hidden);
  kernels::rms_norm(hidden, c.hidden, w.norm.data(), c.rms_eps, own, c.hidden, blocks.norm_block,
                    hidden, c.hidden);
  return hidden;
}

} // namespace hitproof::engine
