#include "engine/model/ffn_layer.h"

#include "engine/model/projection.h"

#include <algorithm>

namespace hitproof::engine {

const float* FfnLayer::forward(const FfnWeights& w, const RowGroup& rows, const float* u) {
  return w.dense ? dense(w, rows, u) : experts(w, rows, u);
}

const float* FfnLayer::dense(const FfnWeights& w, const RowGroup& rows, const float* u) {
  const ModelConfig& c = ctx_.config;
  const kernels::ExpertShape shape{c.hidden, c.dense_width / ctx_.geometry.tp, c.swiglu_limit};
  const size_t cells = static_cast<size_t>(rows.rows()) * static_cast<size_t>(c.hidden);
  const float* all =
      rows.gather(u, c.hidden, rows.replicated() ? nullptr : gathered_.get(ctx_, cells));
  float* partial = partial_.get(ctx_, cells);
  ctx_.kernels.expert_mlp(
      ctx_.stream, shape, all, c.hidden, rows.rows(), w.mlp.data(),
      ctx_.choices.use(&kernels::KernelProfile::moe_block), false, partial, c.hidden,
      workspace_.get(ctx_, ctx_.kernels.expert_workspace_floats(shape, rows.rows(), 1)));
  return rows.reduce(partial, c.hidden);
}

// The router runs on own rows; its choice travels with the rows it belongs to.
const float* FfnLayer::experts(const FfnWeights& w, const RowGroup& rows, const float* u) {
  const ModelConfig& c = ctx_.config;
  const kernels::ModelKernels& k = ctx_.kernels;
  void* const stream = ctx_.stream;
  const int top = c.experts_per_token;
  const kernels::ExpertShape shape{c.hidden, c.expert_width / ctx_.geometry.tp, c.swiglu_limit};
  const auto total = static_cast<size_t>(rows.rows());
  const auto own = static_cast<size_t>(rows.count());
  const auto choices = total * static_cast<size_t>(top);

  float* logits = logits_.get(ctx_, own * static_cast<size_t>(c.experts));
  project(ctx_, w.router, u, c.hidden, rows.count(), logits, c.experts);
  int32_t* ids = ids_.get(ctx_, choices);
  float* weights = weights_.get(ctx_, choices);
  k.moe_route(stream, logits, c.experts, w.correction.data(), rows.count(), c.experts, top,
              c.routed_scale, ids, weights);

  const float* x = u;
  int64_t x_stride = c.hidden;
  if (!rows.replicated()) {
    const int columns = c.hidden + 2 * top;
    float* packed = packed_.get(ctx_, own * static_cast<size_t>(columns));
    k.copy_rows(stream, u, c.hidden, rows.count(), c.hidden, packed, columns);
    k.copy_rows(stream, ids, top, rows.count(), top, packed + c.hidden, columns);
    k.copy_rows(stream, weights, top, rows.count(), top, packed + c.hidden + top, columns);
    x = rows.gather(packed, columns, gathered_.get(ctx_, total * static_cast<size_t>(columns)));
    x_stride = columns;
    k.copy_rows(stream, x + c.hidden, columns, rows.rows(), top, ids, top);
    k.copy_rows(stream, x + c.hidden + top, columns, rows.rows(), top, weights, top);
  }
  float* partial = partial_.get(ctx_, total * static_cast<size_t>(c.hidden));
  float* workspace =
      workspace_.get(ctx_, std::max(k.expert_workspace_floats(shape, rows.rows(), top),
                                    k.expert_workspace_floats(shape, rows.rows(), 1)));
  const int block = ctx_.choices.use(&kernels::KernelProfile::moe_block);
  k.moe_grouped(stream, shape, x, x_stride, rows.rows(), w.experts.data(), c.experts, ids, weights,
                top, block, partial, c.hidden, workspace,
                int_workspace_.get(ctx_, k.moe_workspace_ints(rows.rows(), c.experts, top)));
  k.expert_mlp(stream, shape, x, x_stride, rows.rows(), w.mlp.data(), block, true, partial,
               c.hidden, workspace);
  return rows.reduce(partial, c.hidden);
}

} // namespace hitproof::engine
