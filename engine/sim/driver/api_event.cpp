// Events, waits for them, and their way to other processes.
#include "engine/sim/driver/api.h"
#include "engine/sim/driver/event.h"
#include "engine/sim/driver/graph.h"
#include "engine/sim/driver/memory.h"
#include "engine/sim/driver/settings.h"

using namespace hitproof::sim;

namespace {

CUresult record(CUevent handle, CUstream stream_handle, unsigned flags, DefaultStream form) {
  return work_call([&] {
    if (flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) return CUDA_ERROR_INVALID_VALUE;
    auto event = find_event(handle);
    auto stream = find_stream(stream_handle, form);
    if (!event || !stream) return CUDA_ERROR_INVALID_HANDLE;
    const Admission admission = admit(*stream);
    if (admission.result != CUDA_SUCCESS) return admission.result;
    if (admission.capture)
      return capture_record(*stream, event, (flags & CU_EVENT_RECORD_EXTERNAL) != 0);
    forget_capture(*event);
    const uint64_t number = event->begin_record();
    stream->enqueue([event = std::move(event), number] { event->finish_record(number); });
    return CUDA_SUCCESS;
  });
}

} // namespace

HITPROOF_SIM_API CUresult cuEventCreate(CUevent* out, unsigned int flags) {
  return work_call([&] {
    constexpr unsigned known =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!out || (flags & ~known)) return CUDA_ERROR_INVALID_VALUE;
    // An event that other processes see has no time.
    if ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING))
      return CUDA_ERROR_INVALID_VALUE;
    auto event = Event::create(flags);
    *out = event->handle();
    add_event(std::move(event));
    return CUDA_SUCCESS;
  });
}

// Records and waits under way keep the event alive; only the handle ends here.
HITPROOF_SIM_API CUresult cuEventDestroy_v2(CUevent event) {
  return work_call([&] { return take_event(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}

HITPROOF_SIM_API CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }

HITPROOF_SIM_CALL(cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream)) {
  return record(event, stream, CU_EVENT_RECORD_DEFAULT, form);
}

HITPROOF_SIM_CALL(cuEventRecordWithFlags, _ptsz,
                  (CUevent event, CUstream stream, unsigned int flags), (event, stream, flags)) {
  return record(event, stream, flags, form);
}

HITPROOF_SIM_API CUresult cuEventQuery(CUevent handle) {
  return work_call([&] {
    auto event = find_event(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult refused = refuse_captured(*event)) return refused;
    return event->done(event->newest()) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

HITPROOF_SIM_API CUresult cuEventSynchronize(CUevent handle) {
  return work_call([&] {
    auto event = find_event(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult refused = refuse_captured(*event)) return refused;
    return event->wait(event->newest());
  });
}

HITPROOF_SIM_API CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return work_call([&] {
    auto first = find_event(start), second = find_event(end);
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    if (!first || !second || !first->timed() || !second->timed()) return CUDA_ERROR_INVALID_HANDLE;
    if (first->newest() == 0 || second->newest() == 0) return CUDA_ERROR_INVALID_HANDLE;
    if (!first->done(first->newest()) || !second->done(second->newest()))
      return CUDA_ERROR_NOT_READY;
    const auto span = static_cast<int64_t>(second->time_ns() - first->time_ns());
    *milliseconds = static_cast<float>(static_cast<double>(span) * 1e-6);
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

HITPROOF_SIM_CALL(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned int flags),
                  (stream, event, flags)) {
  return work_call([&] {
    if (flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) return CUDA_ERROR_INVALID_VALUE;
    auto waited = find_event(event);
    auto on = find_stream(stream, form);
    if (!waited || !on) return CUDA_ERROR_INVALID_HANDLE;
    CUresult captured;
    if (capture_wait(*on, waited, (flags & CU_EVENT_WAIT_EXTERNAL) != 0, captured)) return captured;
    const uint64_t number = waited->newest();
    // Also a wait for nothing is an operation: latches count what the program asked for.
    on->enqueue([waited = std::move(waited), number, on = on.get()] {
      if (broken(Break::ignore_event)) return;
      if (CUresult error = waited->wait(number)) on->fail(error);
    });
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  return work_call([&] {
    auto exported = find_event(event);
    if (!exported) return CUDA_ERROR_INVALID_HANDLE;
    return handle ? exported->export_to(*handle) : CUDA_ERROR_INVALID_VALUE;
  });
}

HITPROOF_SIM_API CUresult cuIpcOpenEventHandle(CUevent* out, CUipcEventHandle handle) {
  return work_call([&] {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (broken(Break::no_ipc)) return CUDA_ERROR_NOT_SUPPORTED;
    CUresult why = CUDA_SUCCESS;
    auto event = Event::import(handle, why);
    if (!event) return why;
    *out = event->handle();
    add_event(std::move(event));
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr ptr) {
  return work_call([&] { return handle ? export_memory(ptr, *handle) : CUDA_ERROR_INVALID_VALUE; });
}

HITPROOF_SIM_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* ptr, CUipcMemHandle handle,
                                                unsigned int flags) {
  return work_call([&] {
    if (!ptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
    if (broken(Break::no_ipc)) return CUDA_ERROR_NOT_SUPPORTED;
    return import_memory(handle, *ptr);
  });
}

HITPROOF_SIM_API CUresult cuIpcOpenMemHandle(CUdeviceptr* ptr, CUipcMemHandle handle,
                                             unsigned int flags) {
  return cuIpcOpenMemHandle_v2(ptr, handle, flags);
}

HITPROOF_SIM_API CUresult cuIpcCloseMemHandle(CUdeviceptr ptr) {
  return work_call([&] {
    synchronize_device();
    return close_imported(ptr);
  });
}
