// Pinned host memory: allocated here or registered by the program.
#include "engine/sim/driver/memory_map.h"

#include <cerrno>
#include <sys/mman.h>
#include <vector>

namespace hitproof::sim {
namespace {

constexpr size_t page = 4096;

// mincore answers ENOMEM where nothing is mapped; the real driver refuses such memory as well.
bool mapped(void* ptr, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(ptr) & ~(page - 1);
  const auto end = (reinterpret_cast<uintptr_t>(ptr) + bytes + page - 1) & ~(page - 1);
  std::vector<unsigned char> present((end - begin) / page);
  return mincore(reinterpret_cast<void*>(begin), end - begin, present.data()) == 0;
}

} // namespace

MemoryMap& MemoryMap::instance() {
  static auto& map = *new MemoryMap;
  return map;
}

std::optional<Range> find_range(uintptr_t address) { return MemoryMap::instance().find(address); }

CUresult allocate_host(size_t bytes, unsigned flags, void*& ptr) {
  if (bytes == 0 || (flags & ~7u)) return CUDA_ERROR_INVALID_VALUE;
  const size_t rounded = (bytes + page - 1) & ~(page - 1);
  if (rounded < bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  void* at = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation allocation;
  allocation.range = {.base = reinterpret_cast<uintptr_t>(at),
                      .size = bytes,
                      .kind = MemoryKind::host_allocated,
                      .flags = flags};
  allocation.backing.mapping = at;
  allocation.backing.mapping_bytes = rounded;
  MemoryMap::instance().add(allocation);
  ptr = at;
  return CUDA_SUCCESS;
}

CUresult free_host(void* ptr) {
  auto allocation =
      MemoryMap::instance().take(reinterpret_cast<uintptr_t>(ptr), [](const Allocation& a) {
        return a.range.kind == MemoryKind::host_allocated;
      });
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  munmap(allocation->backing.mapping, allocation->backing.mapping_bytes);
  return CUDA_SUCCESS;
}

CUresult register_host(void* ptr, size_t bytes, unsigned flags) {
  const auto base = reinterpret_cast<uintptr_t>(ptr);
  if (!ptr || bytes == 0 || (flags & ~15u) || base + bytes < base) return CUDA_ERROR_INVALID_VALUE;
  if (!mapped(ptr, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (MemoryMap::instance().overlaps(base, bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  Allocation allocation;
  allocation.range = {
      .base = base, .size = bytes, .kind = MemoryKind::host_registered, .flags = flags};
  MemoryMap::instance().add(allocation);
  return CUDA_SUCCESS;
}

CUresult unregister_host(void* ptr) {
  auto allocation =
      MemoryMap::instance().take(reinterpret_cast<uintptr_t>(ptr), [](const Allocation& a) {
        return a.range.kind == MemoryKind::host_registered;
      });
  return allocation ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

} // namespace hitproof::sim
