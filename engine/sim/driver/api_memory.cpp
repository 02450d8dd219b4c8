// Allocation, pinning and questions about addresses.
#include "engine/sim/driver/api.h"
#include "engine/sim/driver/graph.h"
#include "engine/sim/driver/memory.h"
#include "engine/sim/driver/settings.h"

using namespace hitproof::sim;

namespace {

// What the real driver waits for before it takes memory away.
template <class Free> CUresult free_idle(Free&& free_memory) {
  return work_call([&] {
    synchronize_device();
    return free_memory();
  });
}

} // namespace

HITPROOF_SIM_API CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return work_call([&] {
    if (!free || !total) return CUDA_ERROR_INVALID_VALUE;
    *total = memory_limit();
    *free = *total - device_bytes_used();
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuMemAlloc_v2(CUdeviceptr* ptr, size_t bytes) {
  return work_call([&] { return ptr ? allocate_device(bytes, *ptr) : CUDA_ERROR_INVALID_VALUE; });
}

HITPROOF_SIM_API CUresult cuMemAllocPitch_v2(CUdeviceptr* ptr, size_t* pitch, size_t width,
                                             size_t height, unsigned int element_bytes) {
  return work_call([&] {
    constexpr size_t row_alignment = 512;
    if (!ptr || !pitch || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16)
      return CUDA_ERROR_INVALID_VALUE;
    const size_t row = (width + row_alignment - 1) & ~(row_alignment - 1);
    if (row < width || row > memory_limit() / height) return CUDA_ERROR_OUT_OF_MEMORY;
    *pitch = row;
    return allocate_device(row * height, *ptr);
  });
}

HITPROOF_SIM_API CUresult cuMemFree_v2(CUdeviceptr ptr) {
  return free_idle([&] { return ptr ? free_device(ptr) : CUDA_SUCCESS; });
}

HITPROOF_SIM_CALL(cuMemAllocAsync, _ptsz, (CUdeviceptr * ptr, size_t bytes, CUstream stream),
                  (ptr, bytes, stream)) {
  return work_call([&] {
    auto on = find_stream(stream, form);
    if (!on) return CUDA_ERROR_INVALID_HANDLE;
    if (!ptr) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult refused = refuse_while_capturing(*on)) return refused;
    return allocate_device(bytes, *ptr);
  });
}

HITPROOF_SIM_CALL(cuMemFreeAsync, _ptsz, (CUdeviceptr ptr, CUstream stream), (ptr, stream)) {
  return work_call([&] {
    auto on = find_stream(stream, form);
    if (!on) return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult refused = refuse_while_capturing(*on)) return refused;
    uint64_t token = 0;
    if (CUresult error = retire_device(ptr, token)) return error;
    on->enqueue([token] { finish_retired(token); });
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size,
                                                  CUdeviceptr ptr) {
  return query_call([&] {
    auto range = find_range(ptr);
    if (!range) return CUDA_ERROR_NOT_FOUND;
    if (base) *base = range->base;
    if (size) *size = range->size;
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuMemHostAlloc(void** ptr, size_t bytes, unsigned int flags) {
  return work_call(
      [&] { return ptr ? allocate_host(bytes, flags, *ptr) : CUDA_ERROR_INVALID_VALUE; });
}

HITPROOF_SIM_API CUresult cuMemAllocHost_v2(void** ptr, size_t bytes) {
  return work_call([&] { return ptr ? allocate_host(bytes, 0, *ptr) : CUDA_ERROR_INVALID_VALUE; });
}

HITPROOF_SIM_API CUresult cuMemFreeHost(void* ptr) {
  return free_idle([&] { return free_host(ptr); });
}

HITPROOF_SIM_API CUresult cuMemHostRegister_v2(void* ptr, size_t bytes, unsigned int flags) {
  return work_call([&] { return register_host(ptr, bytes, flags); });
}

HITPROOF_SIM_API CUresult cuMemHostUnregister(void* ptr) {
  return free_idle([&] { return unregister_host(ptr); });
}

HITPROOF_SIM_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host,
                                                       unsigned int flags) {
  return query_call([&] {
    const auto address = reinterpret_cast<uintptr_t>(host);
    auto range = find_range(address);
    if (!device || flags != 0 || !range || range->on_device()) return CUDA_ERROR_INVALID_VALUE;
    *device = address; // one address space
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuMemHostGetFlags(unsigned int* flags, void* ptr) {
  return query_call([&] {
    auto range = find_range(reinterpret_cast<uintptr_t>(ptr));
    if (!flags || !range || range->kind != MemoryKind::host_allocated)
      return CUDA_ERROR_INVALID_VALUE;
    *flags = range->flags | CU_MEMHOSTALLOC_DEVICEMAP; // unified addressing maps it always
    return CUDA_SUCCESS;
  });
}

namespace {

template <class T> CUresult put(void* data, T value) {
  *static_cast<T*>(data) = value;
  return CUDA_SUCCESS;
}

CUresult attribute_of(const Range& range, CUdeviceptr ptr, CUpointer_attribute attribute,
                      void* data) {
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT:
    return put(data, primary_context());
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return put<unsigned>(data, range.on_device() ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    return put(data, ptr);
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    if (range.on_device()) return CUDA_ERROR_INVALID_VALUE;
    return put(data, reinterpret_cast<void*>(ptr));
  case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    return put(data, false);
  case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    return put<unsigned long long>(data, range.buffer_id);
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    return put(data, false);
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return put<int>(data, 0);
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    return put(data, range.kind == MemoryKind::device);
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    return put<CUdeviceptr>(data, range.base);
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    return put<size_t>(data, range.size);
  case CU_POINTER_ATTRIBUTE_MAPPED:
    return put(data, true);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// What cuPointerGetAttributes says of memory that the driver does not know.
void attribute_of_unknown(CUpointer_attribute attribute, void* data) {
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    put<unsigned>(data, 0);
    break;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    put<int>(data, -2);
    break;
  case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
  case CU_POINTER_ATTRIBUTE_MAPPED:
    put(data, false);
    break;
  default:
    put<uint64_t>(data, 0);
    break;
  }
}

} // namespace

HITPROOF_SIM_API CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                                                CUdeviceptr ptr) {
  return query_call([&] {
    auto range = find_range(ptr);
    if (!data || !range) return CUDA_ERROR_INVALID_VALUE;
    return attribute_of(*range, ptr, attribute, data);
  });
}

HITPROOF_SIM_API CUresult cuPointerGetAttributes(unsigned int count,
                                                 CUpointer_attribute* attributes, void** data,
                                                 CUdeviceptr ptr) {
  return query_call([&] {
    if (!attributes || !data) return CUDA_ERROR_INVALID_VALUE;
    auto range = find_range(ptr);
    for (unsigned i = 0; i < count; ++i) {
      if (!data[i]) return CUDA_ERROR_INVALID_VALUE;
      if (!range)
        attribute_of_unknown(attributes[i], data[i]);
      else if (attribute_of(*range, ptr, attributes[i], data[i]) != CUDA_SUCCESS)
        attribute_of_unknown(attributes[i], data[i]);
    }
    return CUDA_SUCCESS;
  });
}
