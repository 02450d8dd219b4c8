// The device as the runtime shows it.
#include "engine/sim/runtime/driver_access.h"

#include <algorithm>
#include <cstring>
#include <iterator>

using namespace hitproof::sim;

namespace {

cudaError_t check_device(int device, const void* out) {
  if (device != 0) return cudaErrorInvalidDevice;
  return out ? cudaSuccess : cudaErrorInvalidValue;
}

int attribute(const DriverCalls& calls, CUdevice_attribute which) {
  int value = 0;
  calls.cuDeviceGetAttribute(&value, which, 0);
  return value;
}

} // namespace

HITPROOF_SIM_API cudaError_t cudaGetDeviceCount(int* count) {
  return with_driver([&](const DriverCalls& calls) {
    return count ? calls.cuDeviceGetCount(count) : CUDA_ERROR_INVALID_VALUE;
  });
}

HITPROOF_SIM_API cudaError_t cudaSetDevice(int device) {
  if (device != 0) return remember(cudaErrorInvalidDevice);
  return with_context([](const DriverCalls&) { return CUDA_SUCCESS; });
}

HITPROOF_SIM_API cudaError_t cudaGetDevice(int* device) {
  if (!device) return remember(cudaErrorInvalidValue);
  *device = 0;
  return with_driver([](const DriverCalls&) { return CUDA_SUCCESS; });
}

HITPROOF_SIM_API cudaError_t cudaInitDevice(int device, unsigned int device_flags,
                                            unsigned int flags) {
  if (device != 0) return remember(cudaErrorInvalidDevice);
  return with_context([](const DriverCalls&) { return CUDA_SUCCESS; });
}

HITPROOF_SIM_API cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return with_driver(
      [&](const DriverCalls& calls) { return calls.cuDevicePrimaryCtxSetFlags_v2(0, flags); });
}

HITPROOF_SIM_API cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return with_driver([&](const DriverCalls& calls) {
    int active = 0;
    return calls.cuDevicePrimaryCtxGetState(0, flags, &active);
  });
}

HITPROOF_SIM_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (cudaError_t error = check_device(device, properties); error != cudaSuccess)
    return remember(error);
  return with_driver([&](const DriverCalls& calls) {
    cudaDeviceProp p{};
    calls.cuDeviceGetName(p.name, sizeof p.name, 0);
    CUuuid uuid{};
    calls.cuDeviceGetUuid_v2(&uuid, 0);
    std::memcpy(p.uuid.bytes, uuid.bytes, sizeof uuid.bytes);
    calls.cuDeviceTotalMem_v2(&p.totalGlobalMem, 0);
    p.warpSize = attribute(calls, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    p.maxThreadsPerBlock = attribute(calls, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    std::fill(std::begin(p.maxThreadsDim), std::end(p.maxThreadsDim), p.maxThreadsPerBlock);
    std::fill(std::begin(p.maxGridSize), std::end(p.maxGridSize), 65535);
    p.maxThreadsPerMultiProcessor =
        attribute(calls, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    p.memPitch = 0x7fffffff;
    p.major = attribute(calls, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    p.minor = attribute(calls, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    p.textureAlignment = 512;
    p.multiProcessorCount = attribute(calls, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    p.canMapHostMemory = attribute(calls, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    p.concurrentKernels = attribute(calls, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
    p.pciBusID = attribute(calls, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    p.pciDeviceID = attribute(calls, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
    p.asyncEngineCount = attribute(calls, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
    p.unifiedAddressing = attribute(calls, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
    p.streamPrioritiesSupported = attribute(calls, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
    p.canUseHostPointerForRegisteredMem =
        attribute(calls, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
    p.hostRegisterSupported = attribute(calls, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
    p.memoryPoolsSupported = attribute(calls, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    p.ipcEventSupported = attribute(calls, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED);
    *properties = p;
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  if (cudaError_t error = check_device(device, value); error != cudaSuccess) return remember(error);
  return with_driver([&](const DriverCalls& calls) {
    return calls.cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(unsigned{attr}), 0);
  });
}

HITPROOF_SIM_API cudaError_t cudaDeviceGetPCIBusId(char* text, int len, int device) {
  return with_driver(
      [&](const DriverCalls& calls) { return calls.cuDeviceGetPCIBusId(text, len, device); });
}

HITPROOF_SIM_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return with_driver(
      [&](const DriverCalls& calls) { return calls.cuDeviceGetByPCIBusId(device, text); });
}

HITPROOF_SIM_API cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return with_driver(
      [&](const DriverCalls& calls) { return calls.cuDeviceCanAccessPeer(can, device, peer); });
}

HITPROOF_SIM_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return with_context(
      [&](const DriverCalls& calls) { return calls.cuCtxGetStreamPriorityRange(least, greatest); });
}

HITPROOF_SIM_API cudaError_t cudaDeviceSynchronize() {
  return with_context([](const DriverCalls& calls) { return calls.cuCtxSynchronize(); });
}

HITPROOF_SIM_API cudaError_t cudaDeviceReset() {
  return with_driver([](const DriverCalls& calls) { return calls.cuDevicePrimaryCtxReset_v2(0); });
}
