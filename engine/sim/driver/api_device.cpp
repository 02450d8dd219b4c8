// Start-up, version, errors, the device and its one context.
#include "engine/sim/driver/api.h"
#include "engine/sim/driver/settings.h"

#include <cstdio>
#include <cstring>

using namespace hitproof::sim;

namespace {

struct ErrorText {
  CUresult code;
  const char* name;
  const char* text;
};
constexpr ErrorText errors[] = {
#define HITPROOF_SIM_ERROR(driver_name, runtime_name, code, text) {driver_name, #driver_name, text},
#include "engine/sim/errors.def"
#undef HITPROOF_SIM_ERROR
};

const ErrorText* find_error(CUresult code) {
  for (const auto& error : errors)
    if (error.code == code) return &error;
  return nullptr;
}

CUresult device_call(CUdevice device, const void* out) {
  if (CUresult state = ready()) return state;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// A fixed pattern: every process sees the same device.
constexpr char uuid_bytes[16] = {'H', 'i', 't', 'p', 'r', 'o', 'o', 'f',
                                 '-', 's', 'i', 'm', '-', '0', '0', '0'};

bool attribute_value(CUdevice_attribute attribute, int& value) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    value = 1024;
    return true;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    value = 32;
    return true;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    value = 1;
    return true;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    value = 2048;
    return true;
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
    value = 2;
    return true;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    value = 9;
    return true;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
    value = 0x51;
    return true;
  case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
    value = 0x4d;
    return true;
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
  case CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES:
  case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
  case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
    value = 1;
    return true;
  default:
    break;
  }
  // Known numbers that this device does not have are 0, unknown ones an error.
  constexpr unsigned last_attribute = 147;
  value = 0;
  return attribute >= 1 && attribute <= last_attribute;
}

CUresult copy_text(const char* text, char* out, int len) {
  if (len <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(out, static_cast<size_t>(len), "%s", text);
  return CUDA_SUCCESS;
}

} // namespace

HITPROOF_SIM_API CUresult cuInit(unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (forked()) return CUDA_ERROR_NOT_INITIALIZED;
  initialize();
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuDriverGetVersion(int* version) {
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = driver_version;
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuGetErrorName(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  const auto* found = find_error(error);
  *text = found ? found->name : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

HITPROOF_SIM_API CUresult cuGetErrorString(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  const auto* found = find_error(error);
  *text = found ? found->text : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

HITPROOF_SIM_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (CUresult state = device_call(ordinal, device)) return state;
  *device = 0;
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuDeviceGetCount(int* count) {
  if (CUresult state = device_call(0, count)) return state;
  *count = 1;
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuDeviceGetName(char* name, int len, CUdevice device) {
  if (CUresult state = device_call(device, name)) return state;
  return copy_text(device_name, name, len);
}

HITPROOF_SIM_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  if (CUresult state = device_call(device, uuid)) return state;
  std::memcpy(uuid->bytes, uuid_bytes, sizeof uuid_bytes);
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return cuDeviceGetUuid_v2(uuid, device);
}

HITPROOF_SIM_API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  if (CUresult state = device_call(device, bytes)) return state;
  *bytes = memory_limit();
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                               CUdevice device) {
  if (CUresult state = device_call(device, value)) return state;
  return attribute_value(attribute, *value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

HITPROOF_SIM_API CUresult cuDeviceGetPCIBusId(char* text, int len, CUdevice device) {
  if (CUresult state = device_call(device, text)) return state;
  return copy_text(device_bus_id, text, len);
}

HITPROOF_SIM_API CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
  if (CUresult state = device_call(0, device)) return state;
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  if (std::strcmp(text, device_bus_id) != 0) return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  if (CUresult state = device_call(device, can)) return state;
  if (peer != 0) return CUDA_ERROR_INVALID_DEVICE;
  *can = 0; // as for a device and itself
  return CUDA_SUCCESS;
}
