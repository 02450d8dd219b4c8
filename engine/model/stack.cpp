#include "engine/model/stack.h"

#include <algorithm>

namespace hitproof::engine {
namespace {

kernels::MhcSite site(const HyperWeights& w) {
  return {w.fn.data(), w.base.data(), w.scale.data(), w.norm.data()};
}

} // namespace

void Stack::embed(const RankWeights& w, const RowGroup& rows, std::span<const Segment> segments,
                  float* embedded) {
  const int hidden = ctx_.config.hidden;
  for (const Segment& s : segments) {
    const int begin = std::max(s.row, rows.first());
    const int end = std::min(s.row + s.rows, rows.end());
    if (begin >= end) continue;
    ctx_.kernels.gather_rows(
        ctx_.stream, w.embedding.data(), hidden, s.tokens + (begin - s.row), end - begin, hidden,
        embedded + static_cast<ptrdiff_t>(begin - rows.first()) * hidden, hidden);
  }
}

const float* Stack::forward(const RankWeights& w, const RowGroup& rows, const StepLayout& layout) {
  const ModelConfig& c = ctx_.config;
  const kernels::ModelKernels& k = ctx_.kernels;
  const int own = rows.count();
  const auto width = static_cast<size_t>(c.hidden);
  const size_t cells = static_cast<size_t>(own) * width;
  const kernels::MhcShape shape{c.hidden, c.sinkhorn_rounds, c.rms_eps, c.hc_eps};
  const kernels::MhcBlocks blocks{ctx_.choices.use(&kernels::KernelProfile::mhc_block),
                                  ctx_.choices.use(&kernels::KernelProfile::norm_block)};

  float* embedded = embedded_.get(ctx_, cells);
  embed(w, rows, layout.segments, embedded);
  float* streams = streams_.get(ctx_, cells * kernels::mhc_streams);
  float* mix = mix_.get(ctx_, static_cast<size_t>(own) * kernels::mhc_mix_size);
  float* u = input_.get(ctx_, cells);
  k.mhc_spread(ctx_.stream, embedded, c.hidden, own, c.hidden, streams);
  k.mhc_pre(ctx_.stream, shape, site(w.layers[0].attention_site), blocks, streams, own, mix, u,
            c.hidden);

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
    k.mhc_post_pre(ctx_.stream, y, c.hidden, shape, site(layer.ffn_site), blocks, streams, own, mix,
                   u, c.hidden);
    y = ffn_.forward(layer.ffn, rows, u);
    if (l + 1 < c.layers) {
      const HyperWeights& next = w.layers[static_cast<size_t>(l) + 1].attention_site;
      k.mhc_post_pre(ctx_.stream, y, c.hidden, shape, site(next), blocks, streams, own, mix, u,
                     c.hidden);
    } else {
      k.mhc_post(ctx_.stream, y, c.hidden, mix, own, c.hidden, streams);
    }
  }
  float* hidden = hidden_.get(ctx_, cells);
  k.mhc_mean(ctx_.stream, streams, own, c.hidden, hidden, c.hidden);
  k.rms_norm(ctx_.stream, hidden, c.hidden, w.norm.data(), c.rms_eps, own, c.hidden,
             blocks.norm_block, hidden, c.hidden);
  return hidden;
}

} // namespace hitproof::engine
