// Errors, versions and the way from the runtime to driver entry points.
#include "engine/sim/runtime/driver_access.h"

using namespace hitproof::sim;

namespace {

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};
constexpr ErrorText errors[] = {
#define HITPROOF_SIM_ERROR(driver_name, runtime_name, code, text)                                  \
  {runtime_name, #runtime_name, text},
#include "engine/sim/errors.def"
#undef HITPROOF_SIM_ERROR
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
};

const ErrorText* find_error(cudaError_t code) {
  for (const auto& error : errors)
    if (error.code == code) return &error;
  return nullptr;
}

cudaError_t entry_point(const char* symbol, void** fn, int version, unsigned long long flags,
                        cudaDriverEntryPointQueryResult* status, Form form) {
  const Driver& loaded = driver();
  if (loaded.state != cudaSuccess) return remember(loaded.state);
  if (!symbol || !fn || flags > cudaEnablePerThreadDefaultStream)
    return remember(cudaErrorInvalidValue);
  if (flags == cudaEnableDefault)
    flags = form == Form::per_thread ? cudaEnablePerThreadDefaultStream : cudaEnableLegacyStream;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  *fn = nullptr;
  const CUresult result = loaded.get_proc_address(symbol, fn, version, flags, &found);
  if (status) *status = static_cast<cudaDriverEntryPointQueryResult>(static_cast<unsigned>(found));
  if (result == CUDA_ERROR_NOT_FOUND)
    return status ? cudaSuccess : remember(cudaErrorSymbolNotFound);
  return remember(result);
}

} // namespace

HITPROOF_SIM_API cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return remember(cudaErrorInvalidValue);
  const Driver& loaded = driver();
  *version = 0; // the documented answer where there is no driver
  if (!loaded.legacy.cuDriverGetVersion) return cudaSuccess;
  return remember(loaded.legacy.cuDriverGetVersion(version));
}

HITPROOF_SIM_API cudaError_t cudaRuntimeGetVersion(int* version) {
  if (!version) return remember(cudaErrorInvalidValue);
  *version = HITPROOF_SIM_CUDART_VERSION;
  return cudaSuccess;
}

HITPROOF_SIM_API const char* cudaGetErrorName(cudaError_t error) {
  const auto* found = find_error(error);
  return found ? found->name : "unrecognized error code";
}

HITPROOF_SIM_API const char* cudaGetErrorString(cudaError_t error) {
  const auto* found = find_error(error);
  return found ? found->text : "unrecognized error code";
}

HITPROOF_SIM_API cudaError_t cudaGetLastError() { return last_error(true); }
HITPROOF_SIM_API cudaError_t cudaPeekAtLastError() { return last_error(false); }

HITPROOF_SIM_CALL(cudaGetDriverEntryPoint, _ptsz,
                  (const char* symbol, void** fn, unsigned long long flags,
                   cudaDriverEntryPointQueryResult* status),
                  (symbol, fn, flags, status)) {
  return entry_point(symbol, fn, HITPROOF_SIM_CUDART_VERSION, flags, status, form);
}

HITPROOF_SIM_CALL(cudaGetDriverEntryPointByVersion, _ptsz,
                  (const char* symbol, void** fn, unsigned int version, unsigned long long flags,
                   cudaDriverEntryPointQueryResult* status),
                  (symbol, fn, version, flags, status)) {
  return entry_point(symbol, fn, static_cast<int>(version), flags, status, form);
}
