#include "engine/model/kda_layer.h"

#include "engine/model/projection.h"

#include <algorithm>
#include <stdexcept>

namespace hitproof::engine {
namespace {

// Rows worked on together: on the CPU so that what lies between projection and output stays in the
// second-level cache. A multiple of every prefill chunk: chunks are counted from a segment's first
// row, whatever the step holds besides.
int piece_rows(const ModelContext& ctx) { return ctx.kernels.device ? 1024 : 128; }

} // namespace

KdaLayer::KdaLayer(ModelContext& ctx)
    : ctx_(ctx), shape_{ctx.geometry.kda_heads, ctx.config.kda_dim, ctx.geometry.conv_slots,
                        ctx.config.gate_lower_bound, ctx.config.norm_eps},
      width_(shape_.heads * shape_.dim),
      in_columns_(3 * width_ + shape_.heads + 2 * ctx.config.kda_rank) {}

const float* KdaLayer::forward(const KdaWeights& w, int kda_index, const RowGroup& rows,
                               std::span<const Segment> segments, const float* u) {
  const int hidden = ctx_.config.hidden;
  const int most = piece_rows(ctx_);
  const auto total = static_cast<size_t>(rows.rows());
  const size_t cells = total * static_cast<size_t>(hidden);
  const float* all =
      rows.gather(u, hidden, rows.replicated() ? nullptr : gathered_.get(ctx_, cells));
  float* partial = partial_.get(ctx_, cells);

  const size_t tile = std::min(total, static_cast<size_t>(most));
  float* projected = projected_.get(ctx_, tile * static_cast<size_t>(in_columns_));
  float* mixed = mixed_.get(ctx_, tile * static_cast<size_t>(width_));

  size_t next = 0;
  int offset = 0;
  while (next < segments.size()) {
    // Neighbouring short segments share one product; a piece never spans two segments.
    pieces_.clear();
    int filled = 0;
    const int first_row = segments[next].row + offset;
    while (next < segments.size() && filled < most &&
           segments[next].row + offset == first_row + filled) {
      const Segment& s = segments[next];
      const int want = std::min(s.rows - offset, most);
      if (filled + want > most) break;
      pieces_.push_back({&s, offset, want});
      filled += want;
      offset += want;
      if (offset == s.rows) {
        ++next;
        offset = 0;
      }
    }
    project(ctx_, w.in, all + static_cast<ptrdiff_t>(first_row) * hidden, hidden, filled, projected,
            in_columns_);
    int row = 0;
    for (const Piece& piece : pieces_) {
      run_piece(w, kda_index, piece, projected + static_cast<ptrdiff_t>(row) * in_columns_,
                mixed + static_cast<ptrdiff_t>(row) * width_);
      row += piece.rows;
    }
    project(ctx_, w.out, mixed, width_, filled,
            partial + static_cast<ptrdiff_t>(first_row) * hidden, hidden);
  }
  return rows.reduce(partial, hidden);
}

void KdaLayer::convolve(const KdaWeights& w, const CacheEntry& entry, const Piece& piece,
                        const float* raw, float* qkv) {
  const kernels::ModelKernels& k = ctx_.kernels;
  const StateSlots& slots = piece.segment->state[entry.engine_group - 2];
  const int channels = ctx_.geometry.conv_channels;
  std::byte* carry = carry_.get(ctx_, ctx_.geometry.conv_bytes);
  const std::byte* history = nullptr;
  if (piece.offset > 0) {
    history = carry;
  } else if (slots.in != 0) {
    history = ctx_.memory.page(entry, slots.in);
  }
  const auto state_after = [&](int rows, std::byte* out) {
    if (ctx_.config.exact()) {
      k.kda_conv_state_exact(ctx_.stream, raw, in_columns_, rows, channels,
                             reinterpret_cast<const float*>(history), shape_.history_rows,
                             reinterpret_cast<float*>(out));
    } else {
      k.kda_conv_state(ctx_.stream, shape_, raw, in_columns_, rows,
                       reinterpret_cast<const uint16_t*>(history),
                       reinterpret_cast<uint16_t*>(out));
    }
  };
  if (ctx_.config.exact()) {
    k.kda_conv_silu_exact(ctx_.stream, raw, in_columns_, piece.rows, channels, w.conv.data(),
                          reinterpret_cast<const float*>(history), shape_.history_rows, qkv,
                          channels);
  } else {
    k.kda_conv_silu(ctx_.stream, shape_, raw, in_columns_, piece.rows, w.conv.data(),
                    reinterpret_cast<const uint16_t*>(history), qkv, channels);
  }
  if (piece.segment->prefill) {
    state_after(piece.rows, piece.last() ? ctx_.memory.page(entry, slots.out[0]) : carry);
  } else {
    // Later token first: the block to start from may be the first output.
    for (int i = piece.rows - 1; i >= 0; --i)
      state_after(i + 1, ctx_.memory.page(entry, slots.out[i]));
  }
}

void KdaLayer::run_piece(const KdaWeights& w, int kda_index, const Piece& piece,
                         const float* projected, float* out) {
  const CacheEntry& entry = ctx_.geometry.state(kda_index);
  const StateSlots& slots = piece.segment->state[entry.engine_group - 2];
  const auto rows = static_cast<size_t>(piece.rows);
  const auto width = static_cast<size_t>(width_);
  const int rank = ctx_.config.kda_rank;

  const kernels::ModelKernels& k = ctx_.kernels;
  float* qkv = qkv_.get(ctx_, rows * 3 * width);
  convolve(w, entry, piece, projected, qkv);

  const float* b = projected + 3 * width_;
  const float* f_a = b + shape_.heads;
  const float* g_a = f_a + rank;
  float* forget = forget_.get(ctx_, rows * width);
  float* gate = gate_.get(ctx_, rows * width);
  float* beta = beta_.get(ctx_, rows * static_cast<size_t>(shape_.heads));
  project(ctx_, w.forget, f_a, in_columns_, piece.rows, forget, width_);
  project(ctx_, w.gate, g_a, in_columns_, piece.rows, gate, width_);
  k.kda_gates(ctx_.stream, shape_, forget, width_, b, in_columns_, piece.rows, w.a_exp.data(),
              w.dt_bias.data(), forget, width_, beta, shape_.heads);

  const auto recurrent = [&](int block) {
    return reinterpret_cast<float*>(ctx_.memory.page(entry, block) + ctx_.geometry.conv_bytes);
  };
  float* workspace = workspace_.get(ctx_, k.kda_workspace_floats(shape_, piece.rows));
  const kernels::KdaInput in{qkv, 3 * width_, forget, width_, beta, shape_.heads};
  if (piece.segment->prefill) {
    float* state_out = recurrent(slots.out[0]);
    const float* state_in = piece.offset > 0 ? state_out
                            : slots.in != 0  ? recurrent(slots.in)
                                             : nullptr;
    k.kda_prefill(ctx_.stream, shape_, ctx_.choices.use(&kernels::KernelProfile::kda_chunk), in,
                  piece.rows, state_in, state_out, out, width_, workspace);
  } else {
    k.kda_decode(ctx_.stream, shape_, in, piece.rows, slots.in != 0 ? recurrent(slots.in) : nullptr,
                 recurrent(slots.out[0]), piece.rows > 1 ? recurrent(slots.out[1]) : nullptr, out,
                 width_, workspace);
  }
  k.kda_output_gate(ctx_.stream, shape_, out, width_, gate, width_, piece.rows, w.out_norm.data(),
                    ctx_.config.rms_eps, ctx_.choices.use(&kernels::KernelProfile::norm_block), out,
                    width_);
}

} // namespace hitproof::engine
