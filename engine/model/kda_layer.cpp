#include "engine/model/kda_layer.h"

#include "engine/model/projection.h"
#include "kernels/model/kda_exact.h"

#include <algorithm>
#include <stdexcept>

namespace hitproof::engine {
namespace {

// Rows worked on together, so that what lies between projection and output stays in the
// second-level cache. A multiple of every prefill chunk: chunks are counted from a segment's first
// row, whatever the step holds besides.
constexpr int piece_rows = 128;

} // namespace

struct KdaLayer::Piece {
  const Segment* segment;
  int offset; // rows of the segment before this piece
  int rows;
  bool last() const { return offset + rows == segment->rows; }
};

KdaLayer::KdaLayer(ModelContext& ctx)
    : ctx_(ctx), shape_{ctx.geometry.kda_heads, ctx.config.kda_dim, ctx.geometry.conv_slots,
                        ctx.config.gate_lower_bound, ctx.config.norm_eps},
      width_(shape_.heads * shape_.dim),
      in_columns_(3 * width_ + shape_.heads + 2 * ctx.config.kda_rank) {}

const float* KdaLayer::forward(const KdaWeights& w, int kda_index, const RowGroup& rows,
                               std::span<const Segment> segments, const float* u) {
  const int hidden = ctx_.config.hidden;
  const auto total = static_cast<size_t>(rows.rows());
  const float* all = rows.gather(u, hidden, gathered_.get(total * static_cast<size_t>(hidden)));
  float* partial = partial_.get(total * static_cast<size_t>(hidden));

  const size_t tile = std::min<size_t>(total, piece_rows);
  float* projected = projected_.get(tile * static_cast<size_t>(in_columns_));
  float* mixed = mixed_.get(tile * static_cast<size_t>(width_));

  size_t next = 0;
  int offset = 0;
  while (next < segments.size()) {
    // Neighbouring short segments share one product; a piece never spans two segments.
    Piece pieces[piece_rows];
    int count = 0;
    int filled = 0;
    const int first_row = segments[next].row + offset;
    while (next < segments.size() && filled < piece_rows &&
           segments[next].row + offset == first_row + filled) {
      const Segment& s = segments[next];
      const int want = std::min(s.rows - offset, piece_rows);
      if (filled + want > piece_rows) break;
      pieces[count++] = Piece{&s, offset, want};
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
    for (int i = 0; i < count; ++i) {
      run_piece(w, kda_index, pieces[i], projected + static_cast<ptrdiff_t>(row) * in_columns_,
                mixed + static_cast<ptrdiff_t>(row) * width_);
      row += pieces[i].rows;
    }
    project(ctx_, w.out, mixed, width_, filled,
            partial + static_cast<ptrdiff_t>(first_row) * hidden, hidden);
  }
  return rows.reduce(partial, hidden);
}

void KdaLayer::convolve(const KdaWeights& w, const CacheEntry& entry, const Piece& piece,
                        const float* raw, float* qkv) {
  const StateSlots& slots = piece.segment->state[entry.engine_group - 2];
  const int channels = ctx_.geometry.conv_channels;
  std::byte* carry = carry_.get(ctx_.geometry.conv_bytes);
  const std::byte* history = nullptr;
  if (piece.offset > 0) {
    history = carry;
  } else if (slots.in != 0) {
    history = ctx_.memory.page(entry, slots.in);
  }
  const auto state_after = [&](int rows, std::byte* out) {
    if (ctx_.config.exact()) {
      kernels::exact_conv_state(raw, in_columns_, rows, channels,
                                reinterpret_cast<const float*>(history), shape_.history_rows,
                                reinterpret_cast<float*>(out));
    } else {
      kernels::kda_conv_state(shape_, raw, in_columns_, rows,
                              reinterpret_cast<const uint16_t*>(history),
                              reinterpret_cast<uint16_t*>(out));
    }
  };
  if (ctx_.config.exact()) {
    kernels::exact_conv_silu(raw, in_columns_, piece.rows, channels, w.conv.data(),
                             reinterpret_cast<const float*>(history), shape_.history_rows, qkv,
                             channels);
  } else {
    kernels::kda_conv_silu(shape_, raw, in_columns_, piece.rows, w.conv.data(),
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

  float* qkv = qkv_.get(rows * 3 * width);
  convolve(w, entry, piece, projected, qkv);

  const float* b = projected + 3 * width_;
  const float* f_a = b + shape_.heads;
  const float* g_a = f_a + rank;
  float* forget = forget_.get(rows * width);
  float* gate = gate_.get(rows * width);
  float* beta = beta_.get(rows * static_cast<size_t>(shape_.heads));
  project(ctx_, w.forget, f_a, in_columns_, piece.rows, forget, width_);
  project(ctx_, w.gate, g_a, in_columns_, piece.rows, gate, width_);
  kernels::kda_gates(shape_, forget, width_, b, in_columns_, piece.rows, w.a_exp.data(),
                     w.dt_bias.data(), forget, width_, beta, shape_.heads);

  const auto recurrent = [&](int block) {
    return reinterpret_cast<float*>(ctx_.memory.page(entry, block) + ctx_.geometry.conv_bytes);
  };
  float* workspace = workspace_.get(kernels::kda_workspace_floats(shape_));
  const kernels::KdaInput in{qkv, 3 * width_, forget, width_, beta, shape_.heads};
  if (piece.segment->prefill) {
    float* state_out = recurrent(slots.out[0]);
    const float* state_in = piece.offset > 0 ? state_out
                            : slots.in != 0  ? recurrent(slots.in)
                                             : nullptr;
    kernels::kda_prefill(shape_, ctx_.choices.use(&kernels::KernelProfile::kda_chunk), in,
                         piece.rows, state_in, state_out, out, width_, workspace);
  } else {
    float* states[2] = {recurrent(slots.out[0]),
                        piece.rows > 1 ? recurrent(slots.out[1]) : nullptr};
    kernels::kda_decode(shape_, in, piece.rows, slots.in != 0 ? recurrent(slots.in) : nullptr,
                        states, out, width_, workspace);
  }
  kernels::kda_output_gate(shape_, out, width_, gate, width_, piece.rows, w.out_norm.data(),
                           ctx_.config.rms_eps,
                           ctx_.choices.use(&kernels::KernelProfile::norm_block), out, width_);
}

} // namespace hitproof::engine
