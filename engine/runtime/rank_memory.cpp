#include "engine/runtime/rank_memory.h"

#include "engine/runtime/device.h"
#include "probes/hitproof.h"

#include <algorithm>

namespace hitproof::engine {
namespace {

// MLA regions come first in Register::allocations, indexer regions after them.
uint32_t allocation_of(const CacheEntry& entry) {
  return static_cast<uint32_t>(entry.region) +
         (entry.region_kind == RegionKind::mla ? 0u : uint32_t{num_regions});
}

// A row is what one token (attention), one half (tail) or one head (state) has in a page.
uint32_t row_bytes(const CacheEntry& entry) {
  return static_cast<uint32_t>(entry.shape.stride[0]) *
         static_cast<uint32_t>(entry.shape.element_bytes);
}

} // namespace

RankMemory::RankMemory(const CacheGeometry& geometry, int num_blocks, bool clear)
    : geometry_(geometry), num_blocks_(num_blocks) {
  const auto allocate = [&](uint64_t page) {
    const size_t bytes = static_cast<size_t>(num_blocks) * page;
    auto* region = static_cast<std::byte*>(device::allocate_exported(bytes));
    if (clear) device::clear(region, bytes);
    return region;
  };
  for (std::byte*& region : regions_.mla)
    region = allocate(geometry.mla_page);
  for (std::byte*& region : regions_.indexer)
    region = allocate(geometry.index_page);
}

RankMemory::~RankMemory() {
  try {
    for (std::byte* region : regions_.mla)
      device::release(region);
    for (std::byte* region : regions_.indexer)
      device::release(region);
  } catch (const device::DeviceError&) {
    // The process ends; the driver takes the memory back.
  }
}

std::byte* RankMemory::contiguous_page(const CacheEntry& entry, int block) const {
  return regions_.region(entry) + entry.content_bytes * static_cast<uint64_t>(block);
}

void RankMemory::announce_entries(int rank) const {
  for (const CacheEntry& e : geometry_.entries) {
    hitproof_entry_t t{};
    t.name = e.name.c_str();
    t.base = regions_.region(e);
    t.page_stride = e.page_stride;
    t.page_bytes = e.page_bytes;
    t.content_bytes = e.content_bytes;
    t.num_pages = static_cast<uint32_t>(num_blocks_);
    t.tokens_per_page = e.tokens_per_page;
    t.rank = static_cast<uint16_t>(rank);
    t.entry = static_cast<uint16_t>(e.index);
    t.layer = e.layer;
    t.kind = static_cast<uint8_t>(e.kind);
    t.transfer_group = static_cast<uint8_t>(e.transfer_group);
    t.engine_group = static_cast<uint8_t>(e.engine_group);
    t.dtype = e.dtype;
    t.transferred = 1;
    t.key_scope = e.key_scope;
    t.origin = HITPROOF_ORIGIN_MODEL;
    t.ndim = static_cast<uint16_t>(e.shape.ndim);
    t.element_bytes = static_cast<uint16_t>(e.shape.element_bytes);
    std::copy(e.shape.shape.begin(), e.shape.shape.end(), t.shape);
    std::copy(e.shape.stride.begin(), e.shape.stride.end(), t.stride);
    HITPROOF_CALL(entry, (&t));
  }
}

void RankMemory::describe(Register& registration) const {
  const auto blocks = static_cast<uint64_t>(num_blocks_);
  for (std::byte* region : regions_.mla)
    registration.allocations.push_back(
        {device::export_memory(region), blocks * geometry_.mla_page});
  for (std::byte* region : regions_.indexer)
    registration.allocations.push_back(
        {device::export_memory(region), blocks * geometry_.index_page});
  for (const CacheEntry& e : geometry_.entries) {
    EntryExport x;
    x.name = e.name;
    x.allocation = allocation_of(e);
    x.page_stride = e.page_stride;
    x.page_bytes = e.page_bytes;
    x.content_bytes = e.content_bytes;
    x.row_bytes = row_bytes(e);
    x.num_pages = static_cast<uint32_t>(num_blocks_);
    x.tokens_per_page = e.tokens_per_page;
    x.layer = e.layer;
    x.kind = static_cast<uint8_t>(e.kind);
    x.transfer_group = static_cast<uint8_t>(e.transfer_group);
    x.engine_group = static_cast<uint8_t>(e.engine_group);
    x.dtype = e.dtype;
    x.key_scope = e.key_scope;
    x.ndim = static_cast<uint16_t>(e.shape.ndim);
    x.element_bytes = static_cast<uint16_t>(e.shape.element_bytes);
    x.shape = e.shape.shape;
    x.stride = e.shape.stride;
    registration.entries.push_back(std::move(x));
  }
}

} // namespace hitproof::engine
