// The primary context: the only one of the simulated device.
#include "engine/sim/driver/api.h"

using namespace hitproof::sim;

namespace {

CUresult device_state(CUdevice device) {
  if (CUresult state = ready()) return state;
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

} // namespace

HITPROOF_SIM_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (CUresult state = device_state(device)) return state;
  if (!context) return CUDA_ERROR_INVALID_VALUE;
  retain_primary();
  *context = primary_context();
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  if (CUresult state = device_state(device)) return state;
  return release_primary() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

HITPROOF_SIM_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return guarded(device_state(device), [] {
    if (on_stream_worker()) return CUDA_ERROR_NOT_PERMITTED;
    synchronize_device();
    reset_primary();
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags,
                                                     int* active) {
  if (CUresult state = device_state(device)) return state;
  if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
  *flags = primary_flags();
  *active = primary_active() ? 1 : 0;
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
  if (CUresult state = device_state(device)) return state;
  set_primary_flags(flags);
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuCtxGetCurrent(CUcontext* context) {
  if (CUresult state = ready()) return state;
  if (!context) return CUDA_ERROR_INVALID_VALUE;
  *context = current_context();
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuCtxSetCurrent(CUcontext context) {
  return query_call([&] {
    if (context && context != primary_context()) return CUDA_ERROR_INVALID_CONTEXT;
    set_current_context(context);
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return query_call(
      [&] { return push_context(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; });
}

HITPROOF_SIM_API CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (CUresult state = ready()) return state;
  CUcontext top = pop_context();
  if (!top) return CUDA_ERROR_INVALID_CONTEXT;
  if (context) *context = top;
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuCtxGetDevice(CUdevice* device) {
  if (CUresult state = ready()) return state;
  if (!current_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  if (CUresult state = ready()) return state;
  if (!context) return cuCtxGetDevice(device);
  if (context != primary_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuCtxGetFlags(unsigned int* flags) {
  if (CUresult state = ready()) return state;
  if (!current_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!flags) return CUDA_ERROR_INVALID_VALUE;
  *flags = primary_flags();
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (CUresult state = ready()) return state;
  if (!current_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuCtxSynchronize() {
  return work_call([] {
    synchronize_device();
    return device_fault();
  });
}

HITPROOF_SIM_API CUresult cuCtxSynchronize_v2(CUcontext context) {
  if (context && context != primary_context()) return CUDA_ERROR_INVALID_CONTEXT;
  return cuCtxSynchronize();
}
