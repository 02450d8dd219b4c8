// A rank's cache memory: 12 + 12 regions on the device, and the 70 entries that lie in them.
#pragma once

#include "engine/model/geometry.h"
#include "engine/runtime/protocol.h"

#include <vector>

namespace hitproof::engine {

class RankMemory {
 public:
  // One allocation a region: num_blocks MLA pages, num_blocks indexer pages. `clear`: set them to
  // zero, as the simulated device's are; a GPU gives out what its last owner left. Throws
  // DeviceError without room.
  RankMemory(const CacheGeometry& geometry, int num_blocks, bool clear = false);
  ~RankMemory();
  RankMemory(const RankMemory&) = delete;
  RankMemory& operator=(const RankMemory&) = delete;

  const CacheMemory& regions() const { return regions_; }
  int num_blocks() const { return num_blocks_; }
  std::byte* page(const CacheEntry& entry, int block) const { return regions_.page(entry, block); }
  // Where a tail page would be if tails lay one behind the other.
  std::byte* contiguous_page(const CacheEntry& entry, int block) const;

  // Tells the probe every entry as the model sees it (origin model).
  void announce_entries(int rank) const;
  // For the cache server: allocations and entries, in the order of the geometry.
  void describe(Register& registration) const;

 private:
  const CacheGeometry& geometry_;
  int num_blocks_;
  CacheMemory regions_;
};

} // namespace hitproof::engine
