// The sparse-attention sublayer of one rank: latent cache, KPool indexer, attention
// (docs/model.md 2.4 and 2.5).
#pragma once

#include "engine/model/context.h"
#include "engine/model/row_group.h"
#include "engine/model/scratch.h"
#include "engine/model/weights.h"
#include "kernels/model/indexer.h"
#include "kernels/model/mla.h"

#include <span>

namespace hitproof::engine {

class DsaLayer {
 public:
  explicit DsaLayer(ModelContext& ctx);

  /// Projects the own rows u and writes latents, pooled keys and tails of every row of the
  /// segments. Rows outside the segments are projected and not stored: their tokens are in the
  /// cache already, or must not come there.
  void append(const DsaWeights& w, int kind_index, const RowGroup& rows,
              std::span<const Segment> segments, const float* u);

  /// Attends from the rows that the last `append` projected; every token up to a row's own must be
  /// in the cache. Returns own rows of the output, summed over ranks; valid until the next call.
  const float* attend(const DsaWeights& w, int kind_index, const RowGroup& rows,
                      std::span<const Segment> segments);

 private:
  void project_own(const DsaWeights& w, const RowGroup& rows, const float* u);
  void store(const DsaWeights& w, int kind_index, const Segment& segment);
  bool any_long(std::span<const Segment> segments) const;
  void select(const DsaWeights& w, int kind_index, const RowGroup& rows,
              std::span<const Segment> segments);
  int visible_tokens(int64_t position) const;
  void list_tokens(const Segment& segment, int begin, int rows, int32_t* ids, int32_t* counts);
  void attend_few(int kind_index, const Segment& segment, float* query);
  void attend_many(int kind_index, const Segment& segment, float* query);
  void attend_rows(float* query, int rows, const float* latents, const int32_t* ids,
                   const int32_t* counts, int most);
  kernels::PagedCache latent_cache(int kind_index, const Segment& segment) const;
  kernels::PagedCache key_cache(int kind_index, const Segment& segment) const;

  ModelContext& ctx_;
  kernels::LatentRecord record_;
  kernels::IndexerShape index_;
  int columns_;                    // q_lora | latent | key | gate | head weights, of one row
  int pool_columns_;               // chosen pools and their number
  const float* shared_ = nullptr;  // [rows][columns], all rows
  const int32_t* pools_ = nullptr; // [rows][pool_columns]
  int width_;                      // tokens that a row attends to at most
  Scratch<float> own_, gathered_, index_query_, keys_, select_workspace_, own_pools_, all_pools_;
  Scratch<float> query_, latents_, attend_workspace_, partial_;
  Scratch<int32_t> ids_, counts_;
  Scratch<std::byte> tail_copy_;
};

} // namespace hitproof::engine
