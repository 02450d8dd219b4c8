// Memory that the driver knows: device allocations, those of other processes, pinned host memory.
//
// Device memory is host memory behind memfds. Large allocations have a memfd of their own; small
// ones share one in chunks, so that thousands of them do not use up the file descriptors.
#pragma once

#include "engine/sim/cuda_subset_types.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace hitproof::sim {

enum class MemoryKind { device, imported, host_allocated, host_registered };

struct Range {
  uintptr_t base = 0;
  size_t size = 0;
  MemoryKind kind = MemoryKind::device;
  unsigned flags = 0;
  uint64_t buffer_id = 0;

  bool on_device() const { return kind == MemoryKind::device || kind == MemoryKind::imported; }
  bool covers(uintptr_t at, size_t bytes) const {
    return at >= base && at - base <= size && bytes <= size - (at - base);
  }
};

/// The range that holds this address, if the driver knows it.
std::optional<Range> find_range(uintptr_t address);

/// Device memory, 512-byte aligned. CUDA_ERROR_OUT_OF_MEMORY beyond the limit.
CUresult allocate_device(size_t bytes, CUdeviceptr& ptr);
/// Only by base address. No stream may still use it.
CUresult free_device(CUdeviceptr ptr);
/// Takes the range out of the map and gives back the means to end its life later (FreeAsync).
CUresult retire_device(CUdeviceptr ptr, uint64_t& token);
void finish_retired(uint64_t token);
uint64_t device_bytes_used();

CUresult allocate_host(size_t bytes, unsigned flags, void*& ptr);
CUresult free_host(void* ptr);
CUresult register_host(void* ptr, size_t bytes, unsigned flags);
CUresult unregister_host(void* ptr);

CUresult export_memory(CUdeviceptr ptr, CUipcMemHandle& handle);
/// Opening a handle again gives the same address and counts.
CUresult import_memory(const CUipcMemHandle& handle, CUdeviceptr& ptr);
CUresult close_imported(CUdeviceptr ptr);

} // namespace hitproof::sim
