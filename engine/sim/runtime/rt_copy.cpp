// Copies and fills. The kind chooses the driver call, and nothing else.
#include "engine/sim/runtime/driver_access.h"
#include "engine/sim/runtime/kind.h"

using namespace hitproof::sim;

namespace {

CUdeviceptr as_device(const void* ptr) { return reinterpret_cast<CUdeviceptr>(ptr); }

bool known(cudaMemcpyKind kind) { return kind <= cudaMemcpyDefault; }

CUDA_MEMCPY2D box(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                  size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = side_of(kind, true);
  copy.srcHost = src;
  copy.srcDevice = as_device(src);
  copy.srcPitch = src_pitch;
  copy.dstMemoryType = side_of(kind, false);
  copy.dstHost = dst;
  copy.dstDevice = as_device(dst);
  copy.dstPitch = dst_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

cudaError_t check_box(size_t dst_pitch, size_t src_pitch, size_t width, cudaMemcpyKind kind) {
  if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
  return width > dst_pitch || width > src_pitch ? cudaErrorInvalidPitchValue : cudaSuccess;
}

// The contexts of a peer copy; one device, so one context.
CUresult peer_context(const DriverCalls& calls, CUcontext& context) {
  return calls.cuCtxGetCurrent(&context);
}

} // namespace

HITPROOF_SIM_CALL(cudaMemcpy, _ptds,
                  (void* dst, const void* src, size_t bytes, cudaMemcpyKind kind),
                  (dst, src, bytes, kind)) {
  if (!known(kind)) return remember(cudaErrorInvalidMemcpyDirection);
  return with_context(form, [&](const DriverCalls& calls) {
    switch (kind) {
    case cudaMemcpyHostToDevice:
      return calls.cuMemcpyHtoD_v2(as_device(dst), src, bytes);
    case cudaMemcpyDeviceToHost:
      return calls.cuMemcpyDtoH_v2(dst, as_device(src), bytes);
    case cudaMemcpyDeviceToDevice:
      return calls.cuMemcpyDtoD_v2(as_device(dst), as_device(src), bytes);
    default:
      return calls.cuMemcpy(as_device(dst), as_device(src), bytes);
    }
  });
}

HITPROOF_SIM_CALL(cudaMemcpyAsync, _ptsz,
                  (void* dst, const void* src, size_t bytes, cudaMemcpyKind kind,
                   cudaStream_t stream),
                  (dst, src, bytes, kind, stream)) {
  if (!known(kind)) return remember(cudaErrorInvalidMemcpyDirection);
  return with_context(form, [&](const DriverCalls& calls) {
    switch (kind) {
    case cudaMemcpyHostToDevice:
      return calls.cuMemcpyHtoDAsync_v2(as_device(dst), src, bytes, stream);
    case cudaMemcpyDeviceToHost:
      return calls.cuMemcpyDtoHAsync_v2(dst, as_device(src), bytes, stream);
    case cudaMemcpyDeviceToDevice:
      return calls.cuMemcpyDtoDAsync_v2(as_device(dst), as_device(src), bytes, stream);
    default:
      return calls.cuMemcpyAsync(as_device(dst), as_device(src), bytes, stream);
    }
  });
}

HITPROOF_SIM_API cudaError_t cudaMemcpyPeer(void* dst, int dst_device, const void* src,
                                            int src_device, size_t bytes) {
  if (dst_device != 0 || src_device != 0) return remember(cudaErrorInvalidDevice);
  return with_context([&](const DriverCalls& calls) {
    CUcontext context = nullptr;
    if (CUresult error = peer_context(calls, context)) return error;
    return calls.cuMemcpyPeer(as_device(dst), context, as_device(src), context, bytes);
  });
}

HITPROOF_SIM_API cudaError_t cudaMemcpyPeerAsync(void* dst, int dst_device, const void* src,
                                                 int src_device, size_t bytes,
                                                 cudaStream_t stream) {
  if (dst_device != 0 || src_device != 0) return remember(cudaErrorInvalidDevice);
  return with_context([&](const DriverCalls& calls) {
    CUcontext context = nullptr;
    if (CUresult error = peer_context(calls, context)) return error;
    return calls.cuMemcpyPeerAsync(as_device(dst), context, as_device(src), context, bytes, stream);
  });
}

HITPROOF_SIM_CALL(cudaMemcpy2D, _ptds,
                  (void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                   size_t height, cudaMemcpyKind kind),
                  (dst, dst_pitch, src, src_pitch, width, height, kind)) {
  if (cudaError_t error = check_box(dst_pitch, src_pitch, width, kind); error != cudaSuccess)
    return remember(error);
  return with_context(form, [&](const DriverCalls& calls) {
    const auto copy = box(dst, dst_pitch, src, src_pitch, width, height, kind);
    return calls.cuMemcpy2DUnaligned_v2(&copy);
  });
}

HITPROOF_SIM_CALL(cudaMemcpy2DAsync, _ptsz,
                  (void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                   size_t height, cudaMemcpyKind kind, cudaStream_t stream),
                  (dst, dst_pitch, src, src_pitch, width, height, kind, stream)) {
  if (cudaError_t error = check_box(dst_pitch, src_pitch, width, kind); error != cudaSuccess)
    return remember(error);
  return with_context(form, [&](const DriverCalls& calls) {
    const auto copy = box(dst, dst_pitch, src, src_pitch, width, height, kind);
    return calls.cuMemcpy2DAsync_v2(&copy, stream);
  });
}

HITPROOF_SIM_CALL(cudaMemcpyBatchAsync, _ptsz,
                  (void* const* dsts, const void* const* srcs, const size_t* sizes, size_t count,
                   cudaMemcpyAttributes* attributes, size_t* attribute_indices,
                   size_t attribute_count, cudaStream_t stream),
                  (dsts, srcs, sizes, count, attributes, attribute_indices, attribute_count,
                   stream)) {
  static_assert(sizeof(cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes));
  return with_context(form, [&](const DriverCalls& calls) {
    // The driver takes the arrays without const and writes none of them.
    return calls.cuMemcpyBatchAsync_v2(
        reinterpret_cast<CUdeviceptr*>(const_cast<void**>(dsts)),
        reinterpret_cast<CUdeviceptr*>(const_cast<void**>(const_cast<const void**>(srcs))),
        const_cast<size_t*>(sizes), count, reinterpret_cast<CUmemcpyAttributes*>(attributes),
        attribute_indices, attribute_count, stream);
  });
}

HITPROOF_SIM_CALL(cudaMemset, _ptds, (void* dst, int value, size_t bytes), (dst, value, bytes)) {
  return with_context(form, [&](const DriverCalls& calls) {
    return calls.cuMemsetD8_v2(as_device(dst), static_cast<unsigned char>(value), bytes);
  });
}

HITPROOF_SIM_CALL(cudaMemset2D, _ptds,
                  (void* dst, size_t pitch, int value, size_t width, size_t height),
                  (dst, pitch, value, width, height)) {
  return with_context(form, [&](const DriverCalls& calls) {
    return calls.cuMemsetD2D8_v2(as_device(dst), pitch, static_cast<unsigned char>(value), width,
                                 height);
  });
}

HITPROOF_SIM_CALL(cudaMemsetAsync, _ptsz, (void* dst, int value, size_t bytes, cudaStream_t stream),
                  (dst, value, bytes, stream)) {
  return with_context(form, [&](const DriverCalls& calls) {
    return calls.cuMemsetD8Async(as_device(dst), static_cast<unsigned char>(value), bytes, stream);
  });
}

HITPROOF_SIM_CALL(cudaMemset2DAsync, _ptsz,
                  (void* dst, size_t pitch, int value, size_t width, size_t height,
                   cudaStream_t stream),
                  (dst, pitch, value, width, height, stream)) {
  return with_context(form, [&](const DriverCalls& calls) {
    return calls.cuMemsetD2D8Async(as_device(dst), pitch, static_cast<unsigned char>(value), width,
                                   height, stream);
  });
}
