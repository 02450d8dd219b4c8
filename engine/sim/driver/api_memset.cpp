// Fills of device (or mapped host) memory with elements of one, two and four bytes.
#include "engine/sim/driver/api.h"
#include "engine/sim/driver/copy.h"

using namespace hitproof::sim;

namespace {

FillOp row(CUdeviceptr dst, unsigned value, unsigned element, size_t count) {
  return {reinterpret_cast<char*>(dst), value, element, 0, count, 1};
}

FillOp rows(CUdeviceptr dst, size_t pitch, unsigned value, unsigned element, size_t width,
            size_t height) {
  return {reinterpret_cast<char*>(dst), value, element, pitch, width, height};
}

CUresult now(const FillOp& op, DefaultStream form) {
  return work_call([&] { return fill_now(op, form); });
}

CUresult later(const FillOp& op, CUstream stream, DefaultStream form) {
  return work_call([&] { return fill_async(op, stream, form); });
}

} // namespace

HITPROOF_SIM_CALL(cuMemsetD8_v2, _ptds, (CUdeviceptr dst, unsigned char value, size_t count),
                  (dst, value, count)) {
  return now(row(dst, value, 1, count), form);
}

HITPROOF_SIM_CALL(cuMemsetD8Async, _ptsz,
                  (CUdeviceptr dst, unsigned char value, size_t count, CUstream stream),
                  (dst, value, count, stream)) {
  return later(row(dst, value, 1, count), stream, form);
}

HITPROOF_SIM_CALL(cuMemsetD2D8_v2, _ptds,
                  (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height),
                  (dst, pitch, value, width, height)) {
  return now(rows(dst, pitch, value, 1, width, height), form);
}

HITPROOF_SIM_CALL(cuMemsetD2D8Async, _ptsz,
                  (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height,
                   CUstream stream),
                  (dst, pitch, value, width, height, stream)) {
  return later(rows(dst, pitch, value, 1, width, height), stream, form);
}

HITPROOF_SIM_CALL(cuMemsetD16_v2, _ptds, (CUdeviceptr dst, unsigned short value, size_t count),
                  (dst, value, count)) {
  return now(row(dst, value, 2, count), form);
}

HITPROOF_SIM_CALL(cuMemsetD16Async, _ptsz,
                  (CUdeviceptr dst, unsigned short value, size_t count, CUstream stream),
                  (dst, value, count, stream)) {
  return later(row(dst, value, 2, count), stream, form);
}

HITPROOF_SIM_CALL(cuMemsetD2D16_v2, _ptds,
                  (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
                   size_t height),
                  (dst, pitch, value, width, height)) {
  return now(rows(dst, pitch, value, 2, width, height), form);
}

HITPROOF_SIM_CALL(cuMemsetD2D16Async, _ptsz,
                  (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height,
                   CUstream stream),
                  (dst, pitch, value, width, height, stream)) {
  return later(rows(dst, pitch, value, 2, width, height), stream, form);
}

HITPROOF_SIM_CALL(cuMemsetD32_v2, _ptds, (CUdeviceptr dst, unsigned int value, size_t count),
                  (dst, value, count)) {
  return now(row(dst, value, 4, count), form);
}

HITPROOF_SIM_CALL(cuMemsetD32Async, _ptsz,
                  (CUdeviceptr dst, unsigned int value, size_t count, CUstream stream),
                  (dst, value, count, stream)) {
  return later(row(dst, value, 4, count), stream, form);
}

HITPROOF_SIM_CALL(cuMemsetD2D32_v2, _ptds,
                  (CUdeviceptr dst, size_t pitch, unsigned int value, size_t width, size_t height),
                  (dst, pitch, value, width, height)) {
  return now(rows(dst, pitch, value, 4, width, height), form);
}

HITPROOF_SIM_CALL(cuMemsetD2D32Async, _ptsz,
                  (CUdeviceptr dst, size_t pitch, unsigned int value, size_t width, size_t height,
                   CUstream stream),
                  (dst, pitch, value, width, height, stream)) {
  return later(rows(dst, pitch, value, 4, width, height), stream, form);
}
