// Allocation, pinning, addresses and memory of other processes.
#include "engine/sim/runtime/driver_access.h"

#include <cstring>

using namespace hitproof::sim;

namespace {

CUdeviceptr as_device(const void* ptr) { return reinterpret_cast<CUdeviceptr>(ptr); }
CUdeviceptr* as_device(void** ptr) { return reinterpret_cast<CUdeviceptr*>(ptr); }
static_assert(sizeof(CUdeviceptr) == sizeof(void*));

// Unlike the driver, the runtime gives a null pointer for no bytes and frees it as nothing.
template <class Allocate> cudaError_t allocate(void** ptr, size_t bytes, Allocate&& body) {
  return with_context([&](const DriverCalls& calls) {
    if (!ptr) return CUDA_ERROR_INVALID_VALUE;
    *ptr = nullptr;
    return bytes == 0 ? CUDA_SUCCESS : body(calls);
  });
}

} // namespace

HITPROOF_SIM_API cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return with_context([&](const DriverCalls& calls) { return calls.cuMemGetInfo_v2(free, total); });
}

HITPROOF_SIM_API cudaError_t cudaMalloc(void** ptr, size_t bytes) {
  return allocate(ptr, bytes, [&](const DriverCalls& calls) {
    return calls.cuMemAlloc_v2(as_device(ptr), bytes);
  });
}

HITPROOF_SIM_API cudaError_t cudaMallocPitch(void** ptr, size_t* pitch, size_t width,
                                             size_t height) {
  return allocate(ptr, width && height, [&](const DriverCalls& calls) {
    return calls.cuMemAllocPitch_v2(as_device(ptr), pitch, width, height, 4);
  });
}

HITPROOF_SIM_API cudaError_t cudaFree(void* ptr) {
  return with_context([&](const DriverCalls& calls) {
    return ptr ? calls.cuMemFree_v2(as_device(ptr)) : CUDA_SUCCESS;
  });
}

HITPROOF_SIM_CALL(cudaMallocAsync, _ptsz, (void** ptr, size_t bytes, cudaStream_t stream),
                  (ptr, bytes, stream)) {
  return with_context(form, [&](const DriverCalls& calls) {
    if (!ptr) return CUDA_ERROR_INVALID_VALUE;
    *ptr = nullptr;
    return bytes == 0 ? CUDA_SUCCESS : calls.cuMemAllocAsync(as_device(ptr), bytes, stream);
  });
}

HITPROOF_SIM_CALL(cudaFreeAsync, _ptsz, (void* ptr, cudaStream_t stream), (ptr, stream)) {
  return with_context(form, [&](const DriverCalls& calls) {
    return ptr ? calls.cuMemFreeAsync(as_device(ptr), stream) : CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API cudaError_t cudaMallocHost(void** ptr, size_t bytes) {
  return allocate(ptr, bytes,
                  [&](const DriverCalls& calls) { return calls.cuMemAllocHost_v2(ptr, bytes); });
}

HITPROOF_SIM_API cudaError_t cudaHostAlloc(void** ptr, size_t bytes, unsigned int flags) {
  return allocate(ptr, bytes, [&](const DriverCalls& calls) {
    return calls.cuMemHostAlloc(ptr, bytes, flags);
  });
}

HITPROOF_SIM_API cudaError_t cudaFreeHost(void* ptr) {
  return with_context(
      [&](const DriverCalls& calls) { return ptr ? calls.cuMemFreeHost(ptr) : CUDA_SUCCESS; });
}

HITPROOF_SIM_API cudaError_t cudaHostRegister(void* ptr, size_t bytes, unsigned int flags) {
  return with_context(
      [&](const DriverCalls& calls) { return calls.cuMemHostRegister_v2(ptr, bytes, flags); });
}

HITPROOF_SIM_API cudaError_t cudaHostUnregister(void* ptr) {
  return with_context([&](const DriverCalls& calls) { return calls.cuMemHostUnregister(ptr); });
}

HITPROOF_SIM_API cudaError_t cudaHostGetDevicePointer(void** device, void* host,
                                                      unsigned int flags) {
  return with_context([&](const DriverCalls& calls) {
    return calls.cuMemHostGetDevicePointer_v2(as_device(device), host, flags);
  });
}

HITPROOF_SIM_API cudaError_t cudaHostGetFlags(unsigned int* flags, void* ptr) {
  return with_context(
      [&](const DriverCalls& calls) { return calls.cuMemHostGetFlags(flags, ptr); });
}

HITPROOF_SIM_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                                      const void* ptr) {
  return with_context([&](const DriverCalls& calls) {
    if (!attributes) return CUDA_ERROR_INVALID_VALUE;
    unsigned type = 0;
    int device = 0;
    CUdeviceptr device_pointer = 0;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    void* answers[] = {&type, &device, &device_pointer};
    const CUresult result = calls.cuPointerGetAttributes(3, asked, answers, as_device(ptr));
    if (result != CUDA_SUCCESS) return result;
    cudaPointerAttributes found{};
    found.type = type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                 : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
                                              : cudaMemoryTypeUnregistered;
    found.device = device;
    found.devicePointer = reinterpret_cast<void*>(device_pointer);
    found.hostPointer = found.type == cudaMemoryTypeDevice ? nullptr : const_cast<void*>(ptr);
    *attributes = found;
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* ptr) {
  return with_context([&](const DriverCalls& calls) {
    return calls.cuIpcGetMemHandle(reinterpret_cast<CUipcMemHandle*>(handle), as_device(ptr));
  });
}

HITPROOF_SIM_API cudaError_t cudaIpcOpenMemHandle(void** ptr, cudaIpcMemHandle_t handle,
                                                  unsigned int flags) {
  return with_context([&](const DriverCalls& calls) {
    CUipcMemHandle bytes;
    std::memcpy(&bytes, &handle, sizeof bytes);
    return calls.cuIpcOpenMemHandle_v2(as_device(ptr), bytes, flags);
  });
}

HITPROOF_SIM_API cudaError_t cudaIpcCloseMemHandle(void* ptr) {
  return with_context(
      [&](const DriverCalls& calls) { return calls.cuIpcCloseMemHandle(as_device(ptr)); });
}
