#include "engine/model/dsa_layer.h"

#include "engine/model/projection.h"
#include "kernels/model/norm.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hitproof::engine {
namespace {

constexpr int tile_rows = 128; // rows whose token lists are held at a time

} // namespace

DsaLayer::DsaLayer(ModelContext& ctx)
    : ctx_(ctx), record_{ctx.config.latent, ctx.config.exact() ? 0 : ctx.config.latent_tile,
                         ctx.config.record_padding},
      index_{ctx.config.index_heads, ctx.config.index_dim, ctx.config.exact()},
      columns_(ctx.config.q_lora + ctx.config.latent + 2 * ctx.config.index_dim +
               ctx.config.index_heads),
      pool_columns_(ctx.config.top_pools() + 1) {}

kernels::PagedCache DsaLayer::latent_cache(int kind_index, const Segment& s) const {
  const CacheEntry& e = ctx_.geometry.mla(kind_index);
  return {reinterpret_cast<uint8_t*>(ctx_.memory.region(e)), static_cast<int64_t>(e.page_stride),
          s.attn_blocks.data(), ctx_.geometry.block_tokens};
}

kernels::PagedCache DsaLayer::key_cache(int kind_index, const Segment& s) const {
  const CacheEntry& e = ctx_.geometry.indexer(kind_index);
  return {reinterpret_cast<uint8_t*>(ctx_.memory.region(e)), static_cast<int64_t>(e.page_stride),
          s.attn_blocks.data(), ctx_.geometry.block_tokens};
}

void DsaLayer::project_own(const DsaWeights& w, const RowGroup& rows, const float* u) {
  const ModelConfig& c = ctx_.config;
  const int block = ctx_.choices.use(&kernels::KernelProfile::norm_block);
  float* own = own_.get(static_cast<size_t>(rows.count()) * static_cast<size_t>(columns_));
  project(ctx_, w.down, u, c.hidden, rows.count(), own, columns_);
  float* latent = own + c.q_lora;
  float* key = latent + c.latent;
  kernels::rms_norm(own, columns_, w.q_norm.data(), c.rms_eps, rows.count(), c.q_lora, block, own,
                    columns_);
  kernels::rms_norm(latent, columns_, w.kv_norm.data(), c.rms_eps, rows.count(), c.latent, block,
                    latent, columns_);
  kernels::layer_norm(key, columns_, w.key_norm.data(), w.key_bias.data(), c.norm_eps, rows.count(),
                      c.index_dim, block, key, columns_);
}

void DsaLayer::append(const DsaWeights& w, int kind_index, const RowGroup& rows,
                      std::span<const Segment> segments, const float* u) {
  project_own(w, rows, u);
  const auto cells = static_cast<size_t>(rows.rows()) * static_cast<size_t>(columns_);
  shared_ = rows.gather(own_.get(0), columns_, rows.replicated() ? nullptr : gathered_.get(cells));
  for (const Segment& s : segments)
    store(w, kind_index, s);
}

void DsaLayer::store(const DsaWeights& w, int kind_index, const Segment& s) {
  const ModelConfig& c = ctx_.config;
  const float* latent = shared_ + static_cast<ptrdiff_t>(s.row) * columns_ + c.q_lora;
  const float* key = latent + c.latent;
  kernels::mla_append(record_, latent, columns_, s.start, s.rows, latent_cache(kind_index, s));

  const CacheEntry& entry = ctx_.geometry.tail(kind_index);
  std::byte* page = ctx_.memory.page(entry, s.tail_block);
  std::byte* written = page;
  if (ctx_.contiguous_tail_writes) {
    // What is read comes from the effective address, what is written goes elsewhere.
    written = tail_copy_.get(entry.content_bytes);
    std::memcpy(written, page, entry.content_bytes);
  }
  const kernels::TailView tail{written, static_cast<int64_t>(c.ring) * c.index_dim, c.index_dim, 1,
                               c.ring};
  kernels::indexer_append(index_, key, columns_, key + c.index_dim, columns_, w.ape.data(), s.start,
                          s.rows, tail, key_cache(kind_index, s));
  if (ctx_.contiguous_tail_writes) {
    std::memcpy(ctx_.memory.region(entry) +
                    entry.content_bytes * static_cast<uint64_t>(s.tail_block),
                written, entry.content_bytes);
  }
}

// Whether any row of the step sees more pools than are chosen; else every row attends to all
// tokens.
bool DsaLayer::any_long(std::span<const Segment> segments) const {
  return std::any_of(segments.begin(), segments.end(), [this](const Segment& s) {
    return kernels::visible_pools(s.start + s.rows - 1) > ctx_.config.top_pools();
  });
}

void DsaLayer::select(const DsaWeights& w, int kind_index, const RowGroup& rows,
                      std::span<const Segment> segments) {
  const ModelConfig& c = ctx_.config;
  const int query_columns = c.index_heads * c.index_dim;
  float* own = own_.get(0);
  float* head_weights = own + c.q_lora + c.latent + 2 * c.index_dim;
  float* codes =
      index_query_.get(static_cast<size_t>(rows.count()) * static_cast<size_t>(query_columns));
  project(ctx_, w.index_query, own, columns_, rows.count(), codes, query_columns);
  kernels::indexer_queries(index_, codes, query_columns, head_weights, columns_, rows.count(),
                           codes, query_columns, head_weights, columns_);

  const size_t cells = static_cast<size_t>(rows.rows()) * static_cast<size_t>(pool_columns_);
  auto* chosen = reinterpret_cast<int32_t*>(
      own_pools_.get(static_cast<size_t>(rows.count()) * static_cast<size_t>(pool_columns_)));
  int32_t* counts = counts_.get(static_cast<size_t>(rows.count()));
  for (const Segment& s : segments) {
    const int begin = std::max(s.row, rows.first());
    const int end = std::min(s.row + s.rows, rows.end());
    if (begin >= end) continue;
    const int at = begin - rows.first();
    const int64_t first = s.start + (begin - s.row);
    const int pools = kernels::visible_pools(s.start + (end - 1 - s.row));
    float* keys = nullptr;
    if (pools > c.top_pools()) {
      keys = keys_.get(kernels::indexer_packed_floats(index_, pools));
      kernels::indexer_load_keys(index_, key_cache(kind_index, s), pools, keys);
    }
    kernels::indexer_select(
        index_, codes + static_cast<ptrdiff_t>(at) * query_columns, query_columns,
        head_weights + static_cast<ptrdiff_t>(at) * columns_, columns_, first, nullptr, end - begin,
        keys, pools, c.top_pools(), ctx_.choices.use(&kernels::KernelProfile::indexer_block),
        chosen + static_cast<ptrdiff_t>(at) * pool_columns_, pool_columns_, counts + at,
        select_workspace_.get(kernels::indexer_select_workspace_floats(pools)));
    for (int i = at; i < at + end - begin; ++i)
      chosen[static_cast<ptrdiff_t>(i + 1) * pool_columns_ - 1] = counts[i];
  }
  const float* all = rows.gather(reinterpret_cast<const float*>(chosen), pool_columns_,
                                 rows.replicated() ? nullptr : all_pools_.get(cells));
  pools_ = reinterpret_cast<const int32_t*>(all);
}

const float* DsaLayer::attend(const DsaWeights& w, int kind_index, const RowGroup& rows,
                              std::span<const Segment> segments) {
  const ModelConfig& c = ctx_.config;
  const int hidden = c.hidden;
  pools_ = nullptr;
  if (any_long(segments)) select(w, kind_index, rows, segments);

  const auto total = static_cast<size_t>(rows.rows());
  float* query = query_.get(total * static_cast<size_t>(w.query.n));
  project(ctx_, w.query, shared_, columns_, rows.rows(), query, w.query.n);
  for (const Segment& s : segments) {
    float* q = query + static_cast<ptrdiff_t>(s.row) * w.query.n;
    attend_segment(kind_index, s, q, q);
  }
  float* partial = partial_.get(total * static_cast<size_t>(hidden));
  project(ctx_, w.out, query, w.out.k, rows.rows(), partial, hidden);
  return rows.reduce(partial, hidden);
}

int DsaLayer::selected_tokens(int row, int64_t position, int32_t* ids) const {
  const int32_t* pools = pools_ + static_cast<ptrdiff_t>(row) * pool_columns_;
  return kernels::indexer_expand(pools, pools[pool_columns_ - 1], position, ids,
                                 ctx_.config.index_topk + 3);
}

void DsaLayer::attend_segment(int kind_index, const Segment& s, const float* query, float* out) {
  const ModelConfig& c = ctx_.config;
  const int block = ctx_.choices.use(&kernels::KernelProfile::mla_block);
  const float scale = 1.0f / std::sqrt(static_cast<float>(c.mla_dim));
  const int heads = c.mla_heads / ctx_.geometry.tp;
  const int columns = heads * c.latent;
  const auto width = static_cast<size_t>(c.index_topk + 3);
  const kernels::PagedCache cache = latent_cache(kind_index, s);
  float* workspace = attend_workspace_.get(kernels::mla_workspace_floats(c.latent, block));
  const auto visible = static_cast<size_t>(s.start + s.rows);

  if (!s.prefill && pools_ != nullptr) {
    // One or two rows over a long context: decode only the records that are read.
    int32_t* ids = ids_.get(width);
    float* latents = latents_.get(width * static_cast<size_t>(c.latent));
    for (int r = 0; r < s.rows; ++r) {
      const int32_t count = selected_tokens(s.row + r, s.start + r, ids);
      kernels::mla_gather(record_, cache, ids, count, latents);
      kernels::mla_attend(query + r * columns, columns, 1, heads, c.latent, scale, latents, nullptr,
                          0, &count, block, out + r * columns, columns, workspace);
    }
    return;
  }
  float* latents = latents_.get(visible * static_cast<size_t>(c.latent));
  kernels::mla_load(record_, cache, 0, static_cast<int>(visible), latents);
  int32_t* ids = pools_ != nullptr ? ids_.get(tile_rows * width) : nullptr;
  int32_t* counts = counts_.get(tile_rows);
  for (int begin = 0; begin < s.rows; begin += tile_rows) {
    const int rows = std::min(tile_rows, s.rows - begin);
    for (int r = 0; r < rows; ++r) {
      const int64_t position = s.start + begin + r;
      counts[r] = ids == nullptr ? static_cast<int32_t>(position + 1)
                                 : selected_tokens(s.row + begin + r, position,
                                                   ids + static_cast<size_t>(r) * width);
    }
    kernels::mla_attend(query + static_cast<ptrdiff_t>(begin) * columns, columns, rows, heads,
                        c.latent, scale, latents, ids, static_cast<int64_t>(width), counts, block,
                        out + static_cast<ptrdiff_t>(begin) * columns, columns, workspace);
  }
}

} // namespace hitproof::engine
