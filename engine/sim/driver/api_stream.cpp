// Streams, host functions and the latch.
#include "engine/sim/driver/api.h"
#include "engine/sim/driver/graph.h"
#include "engine/sim/driver/settings.h"
#include "engine/sim/latch.h"

using namespace hitproof::sim;

namespace {

constexpr int greatest_priority = -5;

// The call of a look-only function on a stream.
template <class Body> CUresult look(CUstream handle, DefaultStream form, Body&& body) {
  return work_call([&] {
    auto stream = find_stream(handle, form);
    return stream ? body(*stream) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult create(CUstream* out, unsigned flags, int priority) {
  return work_call([&] {
    if (!out || (flags & ~unsigned{CU_STREAM_NON_BLOCKING})) return CUDA_ERROR_INVALID_VALUE;
    // Out of range is clamped, as in the real driver; priorities change nothing here.
    const int clamped = priority > 0                   ? 0
                        : priority < greatest_priority ? greatest_priority
                                                       : priority;
    *out = create_stream(flags, clamped)->handle();
    return CUDA_SUCCESS;
  });
}

// Host functions see one stream's order only; `call` is what runs there.
CUresult enqueue_host(CUstream handle, DefaultStream form, HostOp op) {
  return work_call([&] {
    if (!op.fn) return CUDA_ERROR_INVALID_VALUE;
    auto stream = find_stream(handle, form);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    const Admission admission = admit(*stream);
    if (admission.result != CUDA_SUCCESS) return admission.result;
    if (admission.capture) return capture_node(*stream, CU_GRAPH_NODE_TYPE_HOST, op);
    stream->enqueue([op] { op.fn(op.user_data); });
    return CUDA_SUCCESS;
  });
}

} // namespace

HITPROOF_SIM_API CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return create(stream, flags, 0);
}

HITPROOF_SIM_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags,
                                                     int priority) {
  return create(stream, flags, priority);
}

HITPROOF_SIM_API CUresult cuStreamDestroy_v2(CUstream stream) {
  return work_call([&] {
    // The default streams belong to nobody: their handles are not in the table.
    return destroy_stream(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

HITPROOF_SIM_API CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }

HITPROOF_SIM_CALL(cuStreamSynchronize, _ptsz, (CUstream stream), (stream)) {
  return look(stream, form, [](Stream& on) {
    if (CUresult refused = refuse_while_capturing(on)) return refused;
    // The legacy stream stands for everything that blocks it.
    if (on.kind == Stream::Kind::legacy) {
      for (const auto& other : every_stream())
        if (other->kind != Stream::Kind::non_blocking) other->wait_all();
    }
    on.wait_all();
    return on.fault();
  });
}

HITPROOF_SIM_CALL(cuStreamQuery, _ptsz, (CUstream stream), (stream)) {
  return look(stream, form, [](Stream& on) {
    if (CUresult refused = refuse_while_capturing(on)) return refused;
    if (!on.idle()) return CUDA_ERROR_NOT_READY;
    if (on.kind == Stream::Kind::legacy) {
      for (const auto& other : every_stream())
        if (other->kind != Stream::Kind::non_blocking && !other->idle())
          return CUDA_ERROR_NOT_READY;
    }
    return on.fault();
  });
}

HITPROOF_SIM_CALL(cuStreamGetFlags, _ptsz, (CUstream stream, unsigned int* flags),
                  (stream, flags)) {
  return look(stream, form, [&](Stream& on) {
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = on.flags;
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_CALL(cuStreamGetPriority, _ptsz, (CUstream stream, int* priority),
                  (stream, priority)) {
  return look(stream, form, [&](Stream& on) {
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    *priority = on.priority;
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_CALL(cuStreamGetId, _ptsz, (CUstream stream, unsigned long long* id), (stream, id)) {
  return look(stream, form, [&](Stream& on) {
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    *id = on.id;
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_CALL(cuStreamGetCtx, _ptsz, (CUstream stream, CUcontext* context), (stream, context)) {
  return look(stream, form, [&](Stream&) {
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    *context = primary_context();
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_CALL(cuStreamGetDevice, _ptsz, (CUstream stream, CUdevice* device), (stream, device)) {
  return look(stream, form, [&](Stream&) {
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_CALL(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn fn, void* user_data),
                  (stream, fn, user_data)) {
  return enqueue_host(stream, form, {fn, user_data});
}

HITPROOF_SIM_CALL(cuStreamAddCallback, _ptsz,
                  (CUstream stream, CUstreamCallback callback, void* user_data, unsigned int flags),
                  (stream, callback, user_data, flags)) {
  return look(stream, form, [&](Stream& on) {
    if (!callback || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    // Callbacks cannot be captured, unlike host functions.
    if (CUresult refused = refuse_while_capturing(on)) return refused;
    on.enqueue([=] { callback(stream, CUDA_SUCCESS, user_data); });
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API int hitproof_sim_latch_hold(CUstream handle) {
  auto stream = find_stream(handle, DefaultStream::legacy);
  if (!stream) return -1;
  stream->hold();
  return 0;
}

HITPROOF_SIM_API int hitproof_sim_latch_step(CUstream handle, uint64_t operations) {
  auto stream = find_stream(handle, DefaultStream::legacy);
  if (!stream) return -1;
  stream->step(operations);
  return 0;
}

HITPROOF_SIM_API int hitproof_sim_latch_release(CUstream handle) {
  auto stream = find_stream(handle, DefaultStream::legacy);
  if (!stream) return -1;
  stream->release();
  return 0;
}

HITPROOF_SIM_API int64_t hitproof_sim_latch_pending(CUstream handle) {
  auto stream = find_stream(handle, DefaultStream::legacy);
  if (!stream) return -1;
  const uint64_t completed = stream->completed();
  return static_cast<int64_t>(stream->submitted() - completed);
}

HITPROOF_SIM_API int hitproof_sim_latch_wait(CUstream handle, int64_t pending, int64_t timeout_ms) {
  auto stream = find_stream(handle, DefaultStream::legacy);
  return stream && stream->wait_pending(pending, timeout_ms) ? 0 : -1;
}

HITPROOF_SIM_API void hitproof_sim_set_seed(uint64_t value) { set_seed(value); }

HITPROOF_SIM_API int hitproof_sim_set_break(const char* name) {
  return set_break(name ? name : "") ? 0 : -1;
}
