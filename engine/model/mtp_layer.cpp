#include "engine/model/mtp_layer.h"

#include "engine/model/projection.h"
#include "kernels/model/norm.h"

#include <cstring>

namespace hitproof::engine {

void MtpLayer::append(const RankWeights& w, const RowGroup& rows, std::span<const Segment> segments,
                      std::span<const int32_t> next, std::span<const int64_t> positions,
                      const float* hidden) {
  const ModelConfig& c = ctx_.config;
  const int block = ctx_.choices.use(&kernels::KernelProfile::norm_block);
  const auto width = static_cast<size_t>(c.hidden);
  const auto count = static_cast<size_t>(rows.count());
  float* in = combined_in_.get(count * 2 * width);
  for (size_t r = 0; r < count; ++r) {
    const size_t row = r + static_cast<size_t>(rows.first());
    float* embedding = in + r * 2 * width;
    if (positions[row] == 0) {
      std::memset(embedding, 0, width * sizeof(float));
    } else {
      std::memcpy(embedding, w.embedding.data() + static_cast<size_t>(next[row]) * width,
                  width * sizeof(float));
    }
  }
  kernels::rms_norm(in, 2 * c.hidden, w.mtp.embedding_norm.data(), c.rms_eps, rows.count(),
                    c.hidden, block, in, 2 * c.hidden);
  kernels::rms_norm(hidden, c.hidden, w.mtp.hidden_norm.data(), c.rms_eps, rows.count(), c.hidden,
                    block, in + width, 2 * c.hidden);
  float* combined = combined_.get(count * width);
  project(ctx_, w.mtp.combine, in, 2 * c.hidden, rows.count(), combined, c.hidden);
  float* normed = normed_.get(count * width);
  kernels::rms_norm(combined, c.hidden, w.mtp.input_norm.data(), c.rms_eps, rows.count(), c.hidden,
                    block, normed, c.hidden);
  dsa_.append(w.mtp.dsa, c.kind_index(ModelConfig::mtp_layer), rows, segments, normed);
}

std::vector<int32_t> MtpLayer::draft(const RankWeights& w, const RowGroup& rows,
                                     std::span<const Segment> segments) {
  if (segments.empty()) return {};
  const ModelConfig& c = ctx_.config;
  const int block = ctx_.choices.use(&kernels::KernelProfile::norm_block);
  const int kind_index = c.kind_index(ModelConfig::mtp_layer);
  std::vector<int> wanted;
  std::vector<Segment> last;
  for (const Segment& s : segments) {
    Segment one = s;
    one.row = static_cast<int>(last.size());
    one.rows = 1;
    one.start = s.start + s.rows - 1;
    one.prefill = false;
    wanted.push_back(s.row + s.rows - 1);
    last.push_back(one);
  }
  const RowGroup group(ctx_.collectives, static_cast<int>(last.size()));
  const auto width = static_cast<size_t>(c.hidden);
  const size_t cells = static_cast<size_t>(group.count()) * width;
  const float* all = share_rows(ctx_, rows, combined_.get(0), c.hidden, wanted, chosen_);
  const float* z = all + static_cast<size_t>(group.first()) * width;

  float* normed = normed_.get(cells);
  kernels::rms_norm(z, c.hidden, w.mtp.input_norm.data(), c.rms_eps, group.count(), c.hidden, block,
                    normed, c.hidden);
  dsa_.append(w.mtp.dsa, kind_index, group, {}, normed);
  const float* attended = dsa_.attend(w.mtp.dsa, kind_index, group, last);

  float* residual = residual_.get(cells);
  float* ffn_in = ffn_in_.get(cells);
  kernels::add_rms_norm(z, c.hidden, attended, c.hidden, w.mtp.ffn_norm.data(), c.rms_eps,
                        group.count(), c.hidden, block, residual, c.hidden, ffn_in, c.hidden);
  const float* fed = ffn_.forward(w.mtp.ffn, group, ffn_in);
  float* final = final_.get(cells);
  kernels::add_rms_norm(residual, c.hidden, fed, c.hidden, w.mtp.head_norm.data(), c.rms_eps,
                        group.count(), c.hidden, block, residual, c.hidden, final, c.hidden);
  const float* finals = group.gather(final, c.hidden, all_final_.get(last.size() * width));
  return sampler_.draft(w.lm_head, finals, group.rows());
}

} // namespace hitproof::engine
