#include "engine/model/ffn_layer.h"

#include "engine/model/projection.h"
#include "kernels/model/moe.h"

#include <cstring>

namespace hitproof::engine {

const float* FfnLayer::forward(const FfnWeights& w, const RowGroup& rows, const float* u) {
  return w.dense ? dense(w, rows, u) : experts(w, rows, u);
}

const float* FfnLayer::dense(const FfnWeights& w, const RowGroup& rows, const float* u) {
  const ModelConfig& c = ctx_.config;
  const kernels::ExpertShape shape{c.hidden, c.dense_width / ctx_.geometry.tp, c.swiglu_limit};
  const size_t cells = static_cast<size_t>(rows.rows()) * static_cast<size_t>(c.hidden);
  const float* all = rows.gather(u, c.hidden, gathered_.get(cells));
  float* partial = partial_.get(cells);
  kernels::expert_mlp(shape, all, c.hidden, rows.rows(), w.mlp.data(),
                      ctx_.choices.use(&kernels::KernelProfile::moe_block), false, partial,
                      c.hidden, workspace_.get(kernels::expert_workspace_floats(shape)));
  return rows.reduce(partial, c.hidden);
}

// The router runs on own rows; its choice travels with the rows it belongs to.
const float* FfnLayer::experts(const FfnWeights& w, const RowGroup& rows, const float* u) {
  const ModelConfig& c = ctx_.config;
  const int top = c.experts_per_token;
  const kernels::ExpertShape shape{c.hidden, c.expert_width / ctx_.geometry.tp, c.swiglu_limit};
  const auto total = static_cast<size_t>(rows.rows());
  const auto choices = total * static_cast<size_t>(top);

  float* logits = logits_.get(static_cast<size_t>(rows.count()) * static_cast<size_t>(c.experts));
  project(ctx_, w.router, u, c.hidden, rows.count(), logits, c.experts);
  int32_t* ids = ids_.get(choices);
  float* weights = weights_.get(choices);
  kernels::moe_route(logits, c.experts, w.correction.data(), rows.count(), c.experts, top,
                     c.routed_scale, ids, weights);

  const float* x = u;
  int64_t x_stride = c.hidden;
  if (!rows.replicated()) {
    const int columns = c.hidden + 2 * top;
    const auto row_bytes = static_cast<size_t>(c.hidden) * sizeof(float);
    const auto choice_bytes = static_cast<size_t>(top) * sizeof(float);
    float* packed = packed_.get(static_cast<size_t>(rows.count()) * static_cast<size_t>(columns));
    for (int r = 0; r < rows.count(); ++r) {
      float* row = packed + static_cast<ptrdiff_t>(r) * columns;
      std::memcpy(row, u + static_cast<ptrdiff_t>(r) * c.hidden, row_bytes);
      std::memcpy(row + c.hidden, ids + static_cast<ptrdiff_t>(r) * top, choice_bytes);
      std::memcpy(row + c.hidden + top, weights + static_cast<ptrdiff_t>(r) * top, choice_bytes);
    }
    x = rows.gather(packed, columns, gathered_.get(total * static_cast<size_t>(columns)));
    x_stride = columns;
    for (int r = 0; r < rows.rows(); ++r) {
      const float* row = x + static_cast<ptrdiff_t>(r) * columns;
      std::memcpy(ids + static_cast<ptrdiff_t>(r) * top, row + c.hidden, choice_bytes);
      std::memcpy(weights + static_cast<ptrdiff_t>(r) * top, row + c.hidden + top, choice_bytes);
    }
  }
  float* partial = partial_.get(total * static_cast<size_t>(c.hidden));
  float* workspace = workspace_.get(kernels::expert_workspace_floats(shape));
  const int block = ctx_.choices.use(&kernels::KernelProfile::moe_block);
  kernels::moe_grouped(
      shape, x, x_stride, rows.rows(), w.experts.data(), c.experts, ids, weights, top, block,
      partial, c.hidden, workspace,
      int_workspace_.get(kernels::moe_workspace_ints(rows.rows(), c.experts, top)));
  kernels::expert_mlp(shape, x, x_stride, rows.rows(), w.mlp.data(), block, true, partial, c.hidden,
                      workspace);
  return rows.reduce(partial, c.hidden);
}

} // namespace hitproof::engine
