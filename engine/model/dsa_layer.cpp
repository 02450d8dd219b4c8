#include "engine/model/dsa_layer.h"

#include "engine/model/projection.h"

#include <algorithm>
#include <cmath>

namespace hitproof::engine {
namespace {

// Rows whose token lists are held at a time: on the CPU so many that the lists stay in the cache,
// on a device so many that all of it has work. A row's bits do not depend on it.
int tile_rows(const ModelContext& ctx) { return ctx.kernels.device ? 1024 : 128; }

} // namespace

DsaLayer::DsaLayer(ModelContext& ctx)
    : ctx_(ctx), record_{ctx.config.latent, ctx.config.exact() ? 0 : ctx.config.latent_tile,
                         ctx.config.record_padding},
      index_{ctx.config.index_heads, ctx.config.index_dim, ctx.config.exact()},
      columns_(ctx.config.q_lora + ctx.config.latent + 2 * ctx.config.index_dim +
               ctx.config.index_heads),
      pool_columns_(ctx.config.top_pools() + 1), width_(ctx.config.index_topk + 3) {}

kernels::PagedCache DsaLayer::latent_cache(int kind_index, const Segment& s) const {
  const CacheEntry& e = ctx_.geometry.mla(kind_index);
  return {reinterpret_cast<uint8_t*>(ctx_.memory.region(e)), static_cast<int64_t>(e.page_stride),
          s.attn_blocks, ctx_.geometry.block_tokens};
}

kernels::PagedCache DsaLayer::key_cache(int kind_index, const Segment& s) const {
  const CacheEntry& e = ctx_.geometry.indexer(kind_index);
  return {reinterpret_cast<uint8_t*>(ctx_.memory.region(e)), static_cast<int64_t>(e.page_stride),
          s.attn_blocks, ctx_.geometry.block_tokens};
}

void DsaLayer::project_own(const DsaWeights& w, const RowGroup& rows, const float* u) {
  const ModelConfig& c = ctx_.config;
  const int block = ctx_.choices.use(&kernels::KernelProfile::norm_block);
  const kernels::ModelKernels& k = ctx_.kernels;
  float* own = own_.get(ctx_, static_cast<size_t>(rows.count()) * static_cast<size_t>(columns_));
  project(ctx_, w.down, u, c.hidden, rows.count(), own, columns_);
  float* latent = own + c.q_lora;
  float* key = latent + c.latent;
  k.rms_norm(ctx_.stream, own, columns_, w.q_norm.data(), c.rms_eps, rows.count(), c.q_lora, block,
             own, columns_);
  k.rms_norm(ctx_.stream, latent, columns_, w.kv_norm.data(), c.rms_eps, rows.count(), c.latent,
             block, latent, columns_);
  k.layer_norm(ctx_.stream, key, columns_, w.key_norm.data(), w.key_bias.data(), c.norm_eps,
               rows.count(), c.index_dim, block, key, columns_);
}

void DsaLayer::append(const DsaWeights& w, int kind_index, const RowGroup& rows,
                      std::span<const Segment> segments, const float* u) {
  project_own(w, rows, u);
  const auto cells = static_cast<size_t>(rows.rows()) * static_cast<size_t>(columns_);
  shared_ =
      rows.gather(own_.data(), columns_, rows.replicated() ? nullptr : gathered_.get(ctx_, cells));
  for (const Segment& s : segments)
    store(w, kind_index, s);
}

void DsaLayer::store(const DsaWeights& w, int kind_index, const Segment& s) {
  const ModelConfig& c = ctx_.config;
  const kernels::ModelKernels& k = ctx_.kernels;
  const float* latent = shared_ + static_cast<ptrdiff_t>(s.row) * columns_ + c.q_lora;
  const float* key = latent + c.latent;
  k.mla_append(ctx_.stream, record_, latent, columns_, s.start, s.rows,
               latent_cache(kind_index, s));

  const CacheEntry& entry = ctx_.geometry.tail(kind_index);
  std::byte* page = ctx_.memory.page(entry, s.tail_block);
  std::byte* written = page;
  if (ctx_.contiguous_tail_writes) {
    // What is read comes from the effective address, what is written goes elsewhere.
    written = tail_copy_.get(ctx_, entry.content_bytes);
    k.copy(ctx_.stream, written, page, entry.content_bytes);
  }
  const kernels::TailView tail{written, static_cast<int64_t>(c.ring) * c.index_dim, c.index_dim, 1,
                               c.ring};
  k.indexer_append(ctx_.stream, index_, key, columns_, key + c.index_dim, columns_, w.ape.data(),
                   s.start, s.rows, tail, key_cache(kind_index, s));
  if (ctx_.contiguous_tail_writes) {
    k.copy(ctx_.stream,
           ctx_.memory.region(entry) + entry.content_bytes * static_cast<uint64_t>(s.tail_block),
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
  const kernels::ModelKernels& k = ctx_.kernels;
  const int query_columns = c.index_heads * c.index_dim;
  const auto own_rows = static_cast<size_t>(rows.count());
  float* own = own_.data();
  float* head_weights = own + c.q_lora + c.latent + 2 * c.index_dim;
  float* codes = index_query_.get(ctx_, own_rows * static_cast<size_t>(query_columns));
  project(ctx_, w.index_query, own, columns_, rows.count(), codes, query_columns);
  k.indexer_queries(ctx_.stream, index_, codes, query_columns, head_weights, columns_, rows.count(),
                    codes, query_columns, head_weights, columns_);

  const size_t cells = static_cast<size_t>(rows.rows()) * static_cast<size_t>(pool_columns_);
  auto* chosen = reinterpret_cast<int32_t*>(
      own_pools_.get(ctx_, own_rows * static_cast<size_t>(pool_columns_)));
  for (const Segment& s : segments) {
    const int begin = std::max(s.row, rows.first());
    const int end = std::min(s.row + s.rows, rows.end());
    if (begin >= end) continue;
    const int at = begin - rows.first();
    const int64_t first = s.start + (begin - s.row);
    const int pools = kernels::visible_pools(s.start + (end - 1 - s.row));
    float* keys = nullptr;
    if (pools > c.top_pools()) {
      keys = keys_.get(ctx_, k.indexer_packed_floats(index_, pools));
      k.indexer_load_keys(ctx_.stream, index_, key_cache(kind_index, s), pools, keys);
    }
    int32_t* found = chosen + static_cast<ptrdiff_t>(at) * pool_columns_;
    k.indexer_select(
        ctx_.stream, index_, codes + static_cast<ptrdiff_t>(at) * query_columns, query_columns,
        head_weights + static_cast<ptrdiff_t>(at) * columns_, columns_, first, nullptr, end - begin,
        keys, pools, c.top_pools(), ctx_.choices.use(&kernels::KernelProfile::indexer_block), found,
        pool_columns_, found + pool_columns_ - 1, pool_columns_,
        select_workspace_.get(ctx_, k.indexer_select_workspace_floats(end - begin, pools)));
  }
  const float* all = rows.gather(reinterpret_cast<const float*>(chosen), pool_columns_,
                                 rows.replicated() ? nullptr : all_pools_.get(ctx_, cells));
  pools_ = reinterpret_cast<const int32_t*>(all);
}

const float* DsaLayer::attend(const DsaWeights& w, int kind_index, const RowGroup& rows,
                              std::span<const Segment> segments) {
  const int hidden = ctx_.config.hidden;
  pools_ = nullptr;
  if (any_long(segments)) select(w, kind_index, rows, segments);

  const auto total = static_cast<size_t>(rows.rows());
  float* query = query_.get(ctx_, total * static_cast<size_t>(w.query.n));
  project(ctx_, w.query, shared_, columns_, rows.rows(), query, w.query.n);
  for (const Segment& s : segments) {
    float* q = query + static_cast<ptrdiff_t>(s.row) * w.query.n;
    if (!s.prefill && pools_ != nullptr) {
      attend_few(kind_index, s, q);
    } else {
      attend_many(kind_index, s, q);
    }
  }
  float* partial = partial_.get(ctx_, total * static_cast<size_t>(hidden));
  project(ctx_, w.out, query, w.out.k, rows.rows(), partial, hidden);
  return rows.reduce(partial, hidden);
}

// Tokens that the row at a position attends to, which follows from the position alone: the chosen
// pools, and the tokens after the last whole pool.
int DsaLayer::visible_tokens(int64_t position) const {
  if (pools_ == nullptr) return static_cast<int>(position + 1);
  const int pools = std::min(kernels::visible_pools(position), ctx_.config.top_pools());
  return kernels::index_pool * pools + static_cast<int>((position + 1) % kernels::index_pool);
}

// Token lists of rows [begin, begin + rows) of a segment, or only their numbers.
void DsaLayer::list_tokens(const Segment& s, int begin, int rows, int32_t* ids, int32_t* counts) {
  const kernels::ModelKernels& k = ctx_.kernels;
  if (ids == nullptr) {
    k.count_visible(ctx_.stream, s.start + begin, rows, counts);
    return;
  }
  const int32_t* pools = pools_ + static_cast<ptrdiff_t>(s.row + begin) * pool_columns_;
  k.indexer_expand(ctx_.stream, pools, pool_columns_, pools + pool_columns_ - 1, pool_columns_,
                   s.start + begin, nullptr, rows, ids, width_, width_, counts);
}

// The result replaces the query.
void DsaLayer::attend_rows(float* query, int rows, const float* latents, const int32_t* ids,
                           const int32_t* counts, int most) {
  const ModelConfig& c = ctx_.config;
  const kernels::ModelKernels& k = ctx_.kernels;
  const int block = ctx_.choices.use(&kernels::KernelProfile::mla_block);
  const float scale = 1.0f / std::sqrt(static_cast<float>(c.mla_dim));
  const int heads = c.mla_heads / ctx_.geometry.tp;
  const int columns = heads * c.latent;
  float* workspace =
      attend_workspace_.get(ctx_, k.mla_workspace_floats(rows, heads, c.latent, block, most));
  k.mla_attend(ctx_.stream, query, columns, rows, heads, c.latent, scale, latents, ids, width_,
               counts, most, block, query, columns, workspace);
}

// One or two rows over a long context: only the records that are read are decoded.
void DsaLayer::attend_few(int kind_index, const Segment& s, float* query) {
  const auto width = static_cast<size_t>(width_);
  const int columns = ctx_.config.mla_heads / ctx_.geometry.tp * ctx_.config.latent;
  int32_t* ids = ids_.get(ctx_, static_cast<size_t>(s.rows) * width);
  int32_t* counts = counts_.get(ctx_, static_cast<size_t>(s.rows));
  float* latents = latents_.get(ctx_, width * static_cast<size_t>(ctx_.config.latent));
  list_tokens(s, 0, s.rows, ids, counts);
  for (int r = 0; r < s.rows; ++r) {
    const int count = visible_tokens(s.start + r);
    ctx_.kernels.mla_gather(ctx_.stream, record_, latent_cache(kind_index, s),
                            ids + static_cast<size_t>(r) * width, count, latents);
    attend_rows(query + static_cast<ptrdiff_t>(r) * columns, 1, latents, nullptr, counts + r,
                count);
  }
}

void DsaLayer::attend_many(int kind_index, const Segment& s, float* query) {
  const int tile = std::min(tile_rows(ctx_), s.rows);
  const int columns = ctx_.config.mla_heads / ctx_.geometry.tp * ctx_.config.latent;
  const auto all = static_cast<size_t>(s.start + s.rows);
  float* latents = latents_.get(ctx_, all * static_cast<size_t>(ctx_.config.latent));
  ctx_.kernels.mla_load(ctx_.stream, record_, latent_cache(kind_index, s), 0, static_cast<int>(all),
                        latents);
  int32_t* ids = nullptr;
  if (pools_ != nullptr)
    ids = ids_.get(ctx_, static_cast<size_t>(tile) * static_cast<size_t>(width_));
  int32_t* counts = counts_.get(ctx_, static_cast<size_t>(tile));
  for (int begin = 0; begin < s.rows; begin += tile) {
    const int rows = std::min(tile, s.rows - begin);
    list_tokens(s, begin, rows, ids, counts);
    const int64_t last = s.start + begin + rows - 1;
    const int most = ids == nullptr ? visible_tokens(last)
                                    : static_cast<int>(std::min<int64_t>(last + 1, width_));
    attend_rows(query + static_cast<ptrdiff_t>(begin) * columns, rows, latents, ids, counts, most);
  }
}

} // namespace hitproof::engine
