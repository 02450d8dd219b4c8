// Where every cached byte of a rank lies: block size, pages, the 70 entries, groups and aliasing.
//
// Promises: everything is computed from the model's dimensions, the number of ranks and the number
// of draft tokens, by the page-size rule of the serving engine: block = 128 * ceil(S / (128 a)) for
// a state of S bytes a rank and an MLA record of a bytes a token, so that a state page and an MLA
// page have equal size.
#pragma once

#include "engine/model/preset.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hitproof::engine {

inline constexpr int num_regions = 12; ///< 11 DSA layers and the MTP layer
inline constexpr int num_state_groups = 3;
inline constexpr int num_transfer_groups = 6;
inline constexpr int num_engine_groups = 5;
inline constexpr int num_cache_entries = 70;

enum class EntryKind : uint8_t { mla = 0, indexer = 1, state = 2, tail = 3 };
enum class RegionKind : uint8_t { mla = 0, indexer = 1 };

/// Content of a page as an array, for the recorder. Strides in elements.
struct PageShape {
  int ndim = 0;
  int element_bytes = 0;
  std::array<uint32_t, 4> shape{};
  std::array<int64_t, 4> stride{};
};

/// One layer's pages of one kind. Page b of the entry starts page_stride * b into its region.
struct CacheEntry {
  int index = 0; ///< 0..69, equal on every rank
  std::string name;
  int layer = 0;
  EntryKind kind = EntryKind::mla;
  int transfer_group = 0; ///< 0 mla, 1 indexer, 2 tail, 3..5 state
  int engine_group = 0;   ///< 0 attention, 1 tail, 2..4 state
  RegionKind region_kind = RegionKind::mla;
  int region = 0; ///< 0..11
  uint64_t page_stride = 0;
  uint64_t page_bytes = 0;    ///< as transferred; of a state page, padding included
  uint64_t content_bytes = 0; ///< without padding; content comes first
  uint32_t tokens_per_page = 0;
  uint8_t dtype = 0;     ///< 0 bytes, 1 bf16, 2 fp32, 3 e4m3 record
  uint8_t key_scope = 0; ///< 1: the bytes depend on the token after the prefix too (MTP layer)
  PageShape shape;
};

struct CacheGeometry {
  CacheGeometry(const ModelConfig& config, int tp, int drafts);

  int tp = 1;
  int drafts = 1;
  int block_tokens = 0;      ///< checkpoint interval C
  uint64_t record_bytes = 0; ///< a: MLA bytes a token
  uint64_t mla_page = 0;     ///< block_tokens * a; also the padded state page
  uint64_t index_page = 0;
  uint64_t tail_bytes = 0;      ///< content of a tail page; its stride is index_page
  uint64_t conv_bytes = 0;      ///< first part of a state page: [conv_slots][conv_channels]
  uint64_t recurrent_bytes = 0; ///< second part: [heads][key][value] fp32
  uint64_t state_bytes = 0;     ///< S = conv_bytes + recurrent_bytes
  int conv_slots = 0;           ///< 3 + drafts
  int conv_channels = 0;        ///< q | k | v of this rank's heads
  int kda_heads = 0;            ///< of this rank
  int pools_per_block = 0;
  int pools_per_index_page = 0; ///< 64, or 32 where 64 does not divide pools_per_block
  std::vector<CacheEntry> entries;

  /// Bytes that one block id takes over all regions.
  uint64_t bytes_per_block() const { return num_regions * (mla_page + index_page); }
  /// A: bytes of one chunk's attention pages, over 24 entries.
  uint64_t attention_bytes() const { return bytes_per_block(); }
  /// Bytes of one checkpoint's state and tail pages, over 46 entries.
  uint64_t state_and_tail_bytes() const;

  const CacheEntry& mla(int kind_index) const { return entries[static_cast<size_t>(kind_index)]; }
  const CacheEntry& indexer(int kind_index) const {
    return entries[static_cast<size_t>(12 + kind_index)];
  }
  const CacheEntry& state(int kda_index) const {
    return entries[static_cast<size_t>(24 + kda_index)];
  }
  const CacheEntry& tail(int kind_index) const {
    return entries[static_cast<size_t>(58 + kind_index)];
  }

  /// Offset inside an indexer page of pooled key `slot` (0..pools_per_block-1) and of its scale.
  /// In exact numerics there is no scale.
  uint64_t pooled_key_offset(int slot) const;
  uint64_t pooled_scale_offset(int slot) const;
  /// Offset inside a tail page: half 0 indexer key, 1 gate; ring slot = position mod ring.
  uint64_t tail_offset(int half, int slot) const;

 private:
  int index_dim_ = 0;
  int key_bytes_ = 0;
  int ring_ = 4;
  int history_bytes_ = 2;
};

/// Base addresses of a rank's 24 regions, as mapped in its process.
struct CacheMemory {
  std::array<std::byte*, num_regions> mla{};
  std::array<std::byte*, num_regions> indexer{};

  std::byte* region(const CacheEntry& e) const {
    auto& list = e.region_kind == RegionKind::mla ? mla : indexer;
    return list[static_cast<size_t>(e.region)];
  }
  std::byte* page(const CacheEntry& e, int block) const {
    return region(e) + e.page_stride * static_cast<uint64_t>(block);
  }
};

} // namespace hitproof::engine
