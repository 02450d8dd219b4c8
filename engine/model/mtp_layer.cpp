#include "engine/model/mtp_layer.h"

#include "engine/model/projection.h"

namespace hitproof::engine {

void MtpLayer::append(const RankWeights& w, const RowGroup& rows, std::span<const Segment> segments,
                      const int32_t* next, const float* hidden) {
  const ModelConfig& c = ctx_.config;
  const kernels::ModelKernels& k = ctx_.kernels;
  const int block = ctx_.choices.use(&kernels::KernelProfile::norm_block);
  const auto width = static_cast<size_t>(c.hidden);
  const auto count = static_cast<size_t>(rows.count());
  float* in = combined_in_.get(ctx_, count * 2 * width);
  k.gather_rows(ctx_.stream, w.embedding.data(), c.hidden, next, rows.count(), c.hidden, in,
                2 * c.hidden);
  k.rms_norm(ctx_.stream, in, 2 * c.hidden, w.mtp.embedding_norm.data(), c.rms_eps, rows.count(),
             c.hidden, block, in, 2 * c.hidden);
  k.rms_norm(ctx_.stream, hidden, c.hidden, w.mtp.hidden_norm.data(), c.rms_eps, rows.count(),
             c.hidden, block, in + width, 2 * c.hidden);
  float* combined = combined_.get(ctx_, count * width);
  project(ctx_, w.mtp.combine, in, 2 * c.hidden, rows.count(), combined, c.hidden);
  float* normed = normed_.get(ctx_, count * width);
  k.rms_norm(ctx_.stream, combined, c.hidden, w.mtp.input_norm.data(), c.rms_eps, rows.count(),
             c.hidden, block, normed, c.hidden);
  dsa_.append(w.mtp.dsa, c.kind_index(ModelConfig::mtp_layer), rows, segments, normed);
}

std::vector<int32_t> MtpLayer::draft(const RankWeights& w, const RowGroup& rows,
                                     std::span<const Segment> segments, const int32_t* last) {
  if (segments.empty()) return {};
  const ModelConfig& c = ctx_.config;
  const kernels::ModelKernels& k = ctx_.kernels;
  const int block = ctx_.choices.use(&kernels::KernelProfile::norm_block);
  const int kind_index = c.kind_index(ModelConfig::mtp_layer);
  std::vector<Segment> ends;
  for (const Segment& s : segments) {
    Segment one = s;
    one.row = static_cast<int>(ends.size());
    one.rows = 1;
    one.start = s.start + s.rows - 1;
    one.prefill = false;
    ends.push_back(one);
  }
  const RowGroup group(ctx_.collectives, static_cast<int>(ends.size()));
  const auto width = static_cast<size_t>(c.hidden);
  const size_t cells = static_cast<size_t>(group.count()) * width;
  const float* all =
      share_rows(ctx_, rows, combined_.data(), c.hidden, last, group.rows(), chosen_);
  const float* z = all + static_cast<size_t>(group.first()) * width;

  float* normed = normed_.get(ctx_, cells);
  k.rms_norm(ctx_.stream, z, c.hidden, w.mtp.input_norm.data(), c.rms_eps, group.count(), c.hidden,
             block, normed, c.hidden);
  dsa_.append(w.mtp.dsa, kind_index, group, {}, normed);
  const float* attended = dsa_.attend(w.mtp.dsa, kind_index, group, ends);

  float* residual = residual_.get(ctx_, cells);
  float* ffn_in = ffn_in_.get(ctx_, cells);
  k.add_rms_norm(ctx_.stream, z, c.hidden, attended, c.hidden, w.mtp.ffn_norm.data(), c.rms_eps,
                 group.count(), c.hidden, block, residual, c.hidden, ffn_in, c.hidden);
  const float* fed = ffn_.forward(w.mtp.ffn, group, ffn_in);
  float* final = final_.get(ctx_, cells);
  k.add_rms_norm(ctx_.stream, residual, c.hidden, fed, c.hidden, w.mtp.head_norm.data(), c.rms_eps,
                 group.count(), c.hidden, block, residual, c.hidden, final, c.hidden);
  const float* finals = group.gather(
      final, c.hidden, group.replicated() ? nullptr : all_final_.get(ctx_, ends.size() * width));
  return sampler_.draft(w.lm_head, finals, group.rows());
}

} // namespace hitproof::engine
