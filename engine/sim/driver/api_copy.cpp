// Copies of one dimension and of two, synchronous and in a stream.
#include "engine/sim/driver/api.h"
#include "engine/sim/driver/copy.h"

using namespace hitproof::sim;

namespace {

CUdeviceptr as_device(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

CUresult now(CUdeviceptr dst, Side dst_side, CUdeviceptr src, Side src_side, size_t bytes,
             DefaultStream form) {
  return work_call(
      [&] { return copy_now(CopyOp::flat(dst, src, bytes), dst_side, src_side, form); });
}

CUresult later(CUdeviceptr dst, Side dst_side, CUdeviceptr src, Side src_side, size_t bytes,
               CUstream stream, DefaultStream form) {
  return work_call(
      [&] { return copy_async(CopyOp::flat(dst, src, bytes), dst_side, src_side, stream, form); });
}

CUresult box_now(const CUDA_MEMCPY2D* copy, DefaultStream form) {
  return work_call([&] {
    if (!copy) return CUDA_ERROR_INVALID_VALUE;
    CopyOp op;
    Side dst, src;
    if (CUresult error = box_of(*copy, op, dst, src)) return error;
    return copy_now(op, dst, src, form);
  });
}

} // namespace

HITPROOF_SIM_CALL(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
                  (dst, src, bytes)) {
  return now(dst, Side::any, src, Side::any, bytes, form);
}

HITPROOF_SIM_CALL(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dst, const void* src, size_t bytes),
                  (dst, src, bytes)) {
  return now(dst, Side::device, as_device(src), Side::host, bytes, form);
}

HITPROOF_SIM_CALL(cuMemcpyDtoH_v2, _ptds, (void* dst, CUdeviceptr src, size_t bytes),
                  (dst, src, bytes)) {
  return now(as_device(dst), Side::host, src, Side::device, bytes, form);
}

HITPROOF_SIM_CALL(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
                  (dst, src, bytes)) {
  return now(dst, Side::device, src, Side::device, bytes, form);
}

HITPROOF_SIM_CALL(cuMemcpyPeer, _ptds,
                  (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
                   size_t bytes),
                  (dst, dst_context, src, src_context, bytes)) {
  if (dst_context != primary_context() || src_context != primary_context())
    return CUDA_ERROR_INVALID_CONTEXT;
  return now(dst, Side::device, src, Side::device, bytes, form);
}

HITPROOF_SIM_CALL(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* copy), (copy)) {
  return box_now(copy, form);
}

HITPROOF_SIM_CALL(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* copy), (copy)) {
  return box_now(copy, form);
}

HITPROOF_SIM_CALL(cuMemcpyAsync, _ptsz,
                  (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
                  (dst, src, bytes, stream)) {
  return later(dst, Side::any, src, Side::any, bytes, stream, form);
}

HITPROOF_SIM_CALL(cuMemcpyHtoDAsync_v2, _ptsz,
                  (CUdeviceptr dst, const void* src, size_t bytes, CUstream stream),
                  (dst, src, bytes, stream)) {
  return later(dst, Side::device, as_device(src), Side::host, bytes, stream, form);
}

HITPROOF_SIM_CALL(cuMemcpyDtoHAsync_v2, _ptsz,
                  (void* dst, CUdeviceptr src, size_t bytes, CUstream stream),
                  (dst, src, bytes, stream)) {
  return later(as_device(dst), Side::host, src, Side::device, bytes, stream, form);
}

HITPROOF_SIM_CALL(cuMemcpyDtoDAsync_v2, _ptsz,
                  (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
                  (dst, src, bytes, stream)) {
  return later(dst, Side::device, src, Side::device, bytes, stream, form);
}

HITPROOF_SIM_CALL(cuMemcpyPeerAsync, _ptsz,
                  (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
                   size_t bytes, CUstream stream),
                  (dst, dst_context, src, src_context, bytes, stream)) {
  if (dst_context != primary_context() || src_context != primary_context())
    return CUDA_ERROR_INVALID_CONTEXT;
  return later(dst, Side::device, src, Side::device, bytes, stream, form);
}

HITPROOF_SIM_CALL(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* copy, CUstream stream),
                  (copy, stream)) {
  return work_call([&] {
    if (!copy) return CUDA_ERROR_INVALID_VALUE;
    CopyOp op;
    Side dst, src;
    if (CUresult error = box_of(*copy, op, dst, src)) return error;
    return copy_async(op, dst, src, stream, form);
  });
}
