#include "engine/model/geometry.h"

#include <stdexcept>

namespace hitproof::engine {
namespace {

constexpr uint64_t block_alignment =
    128; // the MLA kernels' floor, and pool size * 32 for the indexer

uint64_t round_up_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

PageShape dense_shape(int element_bytes, std::initializer_list<uint32_t> extents) {
  PageShape s;
  s.element_bytes = element_bytes;
  for (uint32_t e : extents)
    s.shape[static_cast<size_t>(s.ndim++)] = e;
  int64_t stride = 1;
  for (int i = s.ndim - 1; i >= 0; --i) {
    s.stride[static_cast<size_t>(i)] = stride;
    stride *= s.shape[static_cast<size_t>(i)];
  }
  return s;
}

std::string layer_name(int layer, const char* what) {
  return "layers." + std::to_string(layer) + "." + what;
}

} // namespace

CacheGeometry::CacheGeometry(const ModelConfig& c, int ranks, int draft_tokens)
    : tp(ranks), drafts(draft_tokens) {
  if (std::string problem = check_config(c, ranks); !problem.empty())
    throw std::invalid_argument(problem);
  index_dim_ = c.index_dim;
  key_bytes_ = c.exact() ? 4 * c.index_dim : c.index_dim;
  ring_ = c.ring;
  history_bytes_ = c.history_element_bytes();

  kda_heads = c.kda_heads / tp;
  conv_slots = c.conv_width - 1 + drafts;
  conv_channels = 3 * kda_heads * c.kda_dim;
  conv_bytes = static_cast<uint64_t>(conv_slots) * static_cast<uint64_t>(conv_channels) *
               static_cast<uint64_t>(history_bytes_);
  recurrent_bytes = 4ull * static_cast<uint64_t>(kda_heads) * static_cast<uint64_t>(c.kda_dim) *
                    static_cast<uint64_t>(c.kda_dim);
  state_bytes = conv_bytes + recurrent_bytes;
  record_bytes = static_cast<uint64_t>(c.record_bytes());

  const uint64_t block =
      block_alignment * round_up_div(state_bytes, block_alignment * record_bytes);
  block_tokens = static_cast<int>(block);
  mla_page = block * record_bytes;
  pools_per_block = block_tokens / c.pool;
  pools_per_index_page = pools_per_block % 64 == 0 ? 64 : 32;
  index_page = static_cast<uint64_t>(pools_per_block) * static_cast<uint64_t>(c.pooled_key_bytes());
  tail_bytes = 2ull * static_cast<uint64_t>(ring_) * static_cast<uint64_t>(index_dim_) *
               static_cast<uint64_t>(history_bytes_);

  const auto block32 = static_cast<uint32_t>(block);
  const auto dim32 = static_cast<uint32_t>(c.kda_dim);
  std::vector<int> dsa;
  std::vector<int> kda;
  for (int l = 0; l < c.layers; ++l)
    (c.is_dsa(l) ? dsa : kda).push_back(l);
  dsa.push_back(ModelConfig::mtp_layer);

  auto add = [this](CacheEntry e) {
    e.index = static_cast<int>(entries.size());
    entries.push_back(std::move(e));
  };
  for (size_t i = 0; i < dsa.size(); ++i) {
    CacheEntry e;
    e.name = layer_name(dsa[i], "mla");
    e.layer = dsa[i];
    e.kind = EntryKind::mla;
    e.region = static_cast<int>(i);
    e.page_stride = e.page_bytes = e.content_bytes = mla_page;
    e.tokens_per_page = block32;
    e.dtype = c.exact() ? 2 : 3;
    e.key_scope = dsa[i] == ModelConfig::mtp_layer ? 1 : 0;
    e.shape = dense_shape(1, {block32, static_cast<uint32_t>(record_bytes)});
    add(std::move(e));
  }
  for (size_t i = 0; i < dsa.size(); ++i) {
    CacheEntry e;
    e.name = layer_name(dsa[i], "indexer");
    e.layer = dsa[i];
    e.kind = EntryKind::indexer;
    e.transfer_group = 1;
    e.region_kind = RegionKind::indexer;
    e.region = static_cast<int>(i);
    e.page_stride = e.page_bytes = e.content_bytes = index_page;
    e.tokens_per_page = block32;
    e.key_scope = dsa[i] == ModelConfig::mtp_layer ? 1 : 0;
    e.shape = dense_shape(1, {static_cast<uint32_t>(pools_per_block / pools_per_index_page),
                              static_cast<uint32_t>(pools_per_index_page * c.pooled_key_bytes())});
    add(std::move(e));
  }
  for (size_t m = 0; m < kda.size(); ++m) {
    const int group = static_cast<int>(m) % num_state_groups;
    CacheEntry e;
    e.name = layer_name(kda[m], "state");
    e.layer = kda[m];
    e.kind = EntryKind::state;
    e.transfer_group = 3 + group;
    e.engine_group = 2 + group;
    e.region = static_cast<int>(m) / num_state_groups;
    e.page_stride = e.page_bytes = mla_page;
    e.content_bytes = state_bytes;
    e.tokens_per_page = block32;
    e.dtype = 2;
    // The recurrent part as an array; the conv part lies before it and has elements of its own.
    e.shape = dense_shape(4, {static_cast<uint32_t>(kda_heads), dim32, dim32});
    add(std::move(e));
  }
  for (size_t i = 0; i < dsa.size(); ++i) {
    CacheEntry e;
    e.name = layer_name(dsa[i], "tail");
    e.layer = dsa[i];
    e.kind = EntryKind::tail;
    e.transfer_group = 2;
    e.engine_group = 1;
    e.region_kind = RegionKind::indexer;
    e.region = static_cast<int>(i);
    e.page_stride = index_page;
    e.page_bytes = e.content_bytes = tail_bytes;
    e.tokens_per_page = block32;
    e.dtype = c.exact() ? 2 : 1;
    e.key_scope = dsa[i] == ModelConfig::mtp_layer ? 1 : 0;
    e.shape = dense_shape(history_bytes_,
                          {2u, static_cast<uint32_t>(ring_), static_cast<uint32_t>(index_dim_)});
    add(std::move(e));
  }
}

uint64_t CacheGeometry::state_and_tail_bytes() const {
  uint64_t sum = 0;
  for (const CacheEntry& e : entries) {
    if (e.kind == EntryKind::state || e.kind == EntryKind::tail) sum += e.page_bytes;
  }
  return sum;
}

uint64_t CacheGeometry::pooled_key_offset(int slot) const {
  const int page = slot / pools_per_index_page;
  const int inside = slot % pools_per_index_page;
  const uint64_t page_bytes =
      index_page / static_cast<uint64_t>(pools_per_block / pools_per_index_page);
  return static_cast<uint64_t>(page) * page_bytes +
         static_cast<uint64_t>(inside) * static_cast<uint64_t>(key_bytes_);
}

uint64_t CacheGeometry::pooled_scale_offset(int slot) const {
  const int page = slot / pools_per_index_page;
  const int inside = slot % pools_per_index_page;
  const uint64_t page_bytes =
      index_page / static_cast<uint64_t>(pools_per_block / pools_per_index_page);
  return static_cast<uint64_t>(page) * page_bytes +
         static_cast<uint64_t>(pools_per_index_page) * static_cast<uint64_t>(key_bytes_) +
         4u * static_cast<uint64_t>(inside);
}

uint64_t CacheGeometry::tail_offset(int half, int slot) const {
  return static_cast<uint64_t>(half * ring_ + slot) * static_cast<uint64_t>(index_dim_) *
         static_cast<uint64_t>(history_bytes_);
}

} // namespace hitproof::engine
