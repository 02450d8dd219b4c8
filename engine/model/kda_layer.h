// The KDA sublayer of one rank: projections, short convolution, recurrence, output gate
// (docs/model.md 2.3).
#pragma once

#include "engine/model/context.h"
#include "engine/model/row_group.h"
#include "engine/model/scratch.h"
#include "engine/model/weights.h"
#include "kernels/model/kda.h"

#include <span>
#include <vector>

namespace hitproof::engine {

class KdaLayer {
 public:
  explicit KdaLayer(ModelContext& ctx);

  /// u: own rows of the normalised input. Returns the own rows of the output, summed over ranks;
  /// valid until the next call. Reads and writes the state pages that the segments name.
  const float* forward(const KdaWeights& w, int kda_index, const RowGroup& rows,
                       std::span<const Segment> segments, const float* u);

 private:
  struct Piece {
    const Segment* segment;
    int offset; // rows of the segment before this piece
    int rows;
    bool last() const { return offset + rows == segment->rows; }
  };
  void run_piece(const KdaWeights& w, int kda_index, const Piece& piece, const float* projected,
                 float* out);
  void convolve(const KdaWeights& w, const CacheEntry& entry, const Piece& piece, const float* raw,
                float* qkv);

  ModelContext& ctx_;
  kernels::KdaShape shape_;
  int width_;                 // heads * dim
  int in_columns_;            // 3 * width + heads + 2 * kda_rank
  std::vector<Piece> pieces_; // of one product
  Scratch<float> gathered_, projected_, qkv_, forget_, gate_, beta_, mixed_, partial_, workspace_;
  Scratch<std::byte> carry_; // conv history between pieces of one segment
};

} // namespace hitproof::engine
