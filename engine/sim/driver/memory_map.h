// The address map behind memory.h, shared by its three sources.
#pragma once

#include "engine/sim/driver/memory.h"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace hitproof::sim {

/// Where the bytes of a device allocation live.
struct Backing {
  int fd = -1;
  uint64_t inode = 0;
  size_t offset = 0;       // of the allocation in the file
  void* mapping = nullptr; // own mapping, null for a piece of a chunk
  size_t mapping_bytes = 0;
  int chunk = -1;      // piece of this chunk
  int size_class = 0;  // of a piece
  uint32_t opened = 0; // imports of the same handle
};

struct Allocation {
  Range range;
  Backing backing;
};

class MemoryMap {
 public:
  static MemoryMap& instance();

  std::optional<Range> find(uintptr_t address) const {
    std::shared_lock lock(mutex_);
    auto it = by_base_.upper_bound(address);
    if (it == by_base_.begin()) return std::nullopt;
    const Range& range = std::prev(it)->second.range;
    if (address - range.base >= range.size) return std::nullopt;
    return range;
  }
  void add(Allocation allocation) {
    std::unique_lock lock(mutex_);
    allocation.range.buffer_id = ++made_;
    by_base_.emplace(allocation.range.base, allocation);
  }
  /// Takes out the allocation that begins at `base` if `fits(allocation)`.
  template <class Fits> std::optional<Allocation> take(uintptr_t base, Fits&& fits) {
    std::unique_lock lock(mutex_);
    auto it = by_base_.find(base);
    if (it == by_base_.end() || !fits(it->second)) return std::nullopt;
    Allocation allocation = it->second;
    by_base_.erase(it);
    return allocation;
  }
  /// Runs use(allocation) on the allocation that holds `address`, under the lock.
  template <class Use> bool with(uintptr_t address, Use&& use) {
    std::unique_lock lock(mutex_);
    auto it = by_base_.upper_bound(address);
    if (it == by_base_.begin()) return false;
    Allocation& allocation = std::prev(it)->second;
    if (address - allocation.range.base >= allocation.range.size) return false;
    use(allocation);
    return true;
  }
  /// First allocation for which match(allocation); run under the lock.
  template <class Match> bool any(Match&& match) {
    std::unique_lock lock(mutex_);
    for (auto& [base, allocation] : by_base_)
      if (match(allocation)) return true;
    return false;
  }
  bool overlaps(uintptr_t base, size_t bytes) const {
    std::shared_lock lock(mutex_);
    auto it = by_base_.lower_bound(base);
    if (it != by_base_.end() && it->first - base < bytes) return true;
    if (it == by_base_.begin()) return false;
    const Range& before = std::prev(it)->second.range;
    return base - before.base < before.size;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, Allocation> by_base_;
  uint64_t made_ = 0;
};

} // namespace hitproof::sim
