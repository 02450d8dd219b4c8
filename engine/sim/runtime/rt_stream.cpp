// Streams, host functions, events.
#include "engine/sim/runtime/driver_access.h"

#include <cstring>

using namespace hitproof::sim;

HITPROOF_SIM_API cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return with_context(
      [&](const DriverCalls& calls) { return calls.cuStreamCreate(stream, CU_STREAM_DEFAULT); });
}

HITPROOF_SIM_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return with_context(
      [&](const DriverCalls& calls) { return calls.cuStreamCreate(stream, flags); });
}

HITPROOF_SIM_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags,
                                                          int priority) {
  return with_context([&](const DriverCalls& calls) {
    return calls.cuStreamCreateWithPriority(stream, flags, priority);
  });
}

HITPROOF_SIM_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return with_context([&](const DriverCalls& calls) { return calls.cuStreamDestroy_v2(stream); });
}

HITPROOF_SIM_CALL(cudaStreamSynchronize, _ptsz, (cudaStream_t stream), (stream)) {
  return with_context(form,
                      [&](const DriverCalls& calls) { return calls.cuStreamSynchronize(stream); });
}

HITPROOF_SIM_CALL(cudaStreamQuery, _ptsz, (cudaStream_t stream), (stream)) {
  return with_context(form, [&](const DriverCalls& calls) { return calls.cuStreamQuery(stream); });
}

HITPROOF_SIM_CALL(cudaStreamWaitEvent, _ptsz,
                  (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
                  (stream, event, flags)) {
  return with_context(form, [&](const DriverCalls& calls) {
    return calls.cuStreamWaitEvent(stream, event, flags);
  });
}

HITPROOF_SIM_CALL(cudaStreamGetFlags, _ptsz, (cudaStream_t stream, unsigned int* flags),
                  (stream, flags)) {
  return with_context(
      form, [&](const DriverCalls& calls) { return calls.cuStreamGetFlags(stream, flags); });
}

HITPROOF_SIM_CALL(cudaStreamGetPriority, _ptsz, (cudaStream_t stream, int* priority),
                  (stream, priority)) {
  return with_context(
      form, [&](const DriverCalls& calls) { return calls.cuStreamGetPriority(stream, priority); });
}

HITPROOF_SIM_CALL(cudaStreamGetId, _ptsz, (cudaStream_t stream, unsigned long long* id),
                  (stream, id)) {
  return with_context(form,
                      [&](const DriverCalls& calls) { return calls.cuStreamGetId(stream, id); });
}

HITPROOF_SIM_CALL(cudaStreamGetDevice, _ptsz, (cudaStream_t stream, int* device),
                  (stream, device)) {
  return with_context(
      form, [&](const DriverCalls& calls) { return calls.cuStreamGetDevice(stream, device); });
}

HITPROOF_SIM_CALL(cudaLaunchHostFunc, _ptsz,
                  (cudaStream_t stream, cudaHostFn_t fn, void* user_data),
                  (stream, fn, user_data)) {
  return with_context(form, [&](const DriverCalls& calls) {
    return calls.cuLaunchHostFunc(stream, fn, user_data);
  });
}

HITPROOF_SIM_CALL(cudaStreamAddCallback, _ptsz,
                  (cudaStream_t stream, cudaStreamCallback_t callback, void* user_data,
                   unsigned int flags),
                  (stream, callback, user_data, flags)) {
  return with_context(form, [&](const DriverCalls& calls) {
    // Two names of one function type: the enums of the levels are the same number.
    const auto same = reinterpret_cast<CUstreamCallback>(reinterpret_cast<void*>(callback));
    return calls.cuStreamAddCallback(stream, same, user_data, flags);
  });
}

HITPROOF_SIM_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return with_context(
      [&](const DriverCalls& calls) { return calls.cuEventCreate(event, CU_EVENT_DEFAULT); });
}

HITPROOF_SIM_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return with_context([&](const DriverCalls& calls) { return calls.cuEventCreate(event, flags); });
}

HITPROOF_SIM_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return with_context([&](const DriverCalls& calls) { return calls.cuEventDestroy_v2(event); });
}

HITPROOF_SIM_CALL(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t stream),
                  (event, stream)) {
  return with_context(form,
                      [&](const DriverCalls& calls) { return calls.cuEventRecord(event, stream); });
}

HITPROOF_SIM_CALL(cudaEventRecordWithFlags, _ptsz,
                  (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
                  (event, stream, flags)) {
  return with_context(form, [&](const DriverCalls& calls) {
    return calls.cuEventRecordWithFlags(event, stream, flags);
  });
}

HITPROOF_SIM_API cudaError_t cudaEventQuery(cudaEvent_t event) {
  return with_context([&](const DriverCalls& calls) { return calls.cuEventQuery(event); });
}

HITPROOF_SIM_API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return with_context([&](const DriverCalls& calls) { return calls.cuEventSynchronize(event); });
}

HITPROOF_SIM_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                                  cudaEvent_t end) {
  return with_context([&](const DriverCalls& calls) {
    return calls.cuEventElapsedTime_v2(milliseconds, start, end);
  });
}

HITPROOF_SIM_API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle,
                                                   cudaEvent_t event) {
  return with_context([&](const DriverCalls& calls) {
    return calls.cuIpcGetEventHandle(reinterpret_cast<CUipcEventHandle*>(handle), event);
  });
}

HITPROOF_SIM_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event,
                                                    cudaIpcEventHandle_t handle) {
  return with_context([&](const DriverCalls& calls) {
    CUipcEventHandle bytes;
    std::memcpy(&bytes, &handle, sizeof bytes);
    return calls.cuIpcOpenEventHandle(event, bytes);
  });
}
