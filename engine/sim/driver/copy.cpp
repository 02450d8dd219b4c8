#include "engine/sim/driver/copy.h"

#include "engine/sim/driver/memory.h"
#include "engine/sim/driver/settings.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace hitproof::sim {
namespace {

size_t extent(const CopyOp& op, size_t pitch, size_t slice) {
  if (op.empty()) return 0;
  return (op.depth - 1) * slice + (op.height - 1) * pitch + op.width;
}

template <class T> void fill_row(char* dst, unsigned value, size_t count) {
  const T element = static_cast<T>(value);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(dst + i * sizeof(T), &element, sizeof(T));
}

CUresult side(CUmemorytype type, const void* host, CUdeviceptr device, Side& kind, char*& at) {
  switch (type) {
  case CU_MEMORYTYPE_HOST:
    kind = Side::host;
    at = static_cast<char*>(const_cast<void*>(host));
    return CUDA_SUCCESS;
  case CU_MEMORYTYPE_DEVICE:
    kind = Side::device;
    at = reinterpret_cast<char*>(device);
    return CUDA_SUCCESS;
  case CU_MEMORYTYPE_UNIFIED:
    kind = Side::any;
    at = reinterpret_cast<char*>(device);
    return CUDA_SUCCESS;
  case CU_MEMORYTYPE_ARRAY:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult check_side(const char* at, size_t bytes, Side kind, bool& pageable) {
  pageable = false;
  if (!at) return CUDA_ERROR_INVALID_VALUE;
  const auto address = reinterpret_cast<uintptr_t>(at);
  if (auto range = find_range(address))
    return range->covers(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  pageable = true;
  return kind == Side::device ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

} // namespace

size_t CopyOp::dst_extent() const { return extent(*this, dst_pitch, dst_slice); }
size_t CopyOp::src_extent() const { return extent(*this, src_pitch, src_slice); }

void perform(const CopyOp& op) {
  if (op.empty()) return;
  // Broken copies lose their tail: up to 64 bytes, never more than half of the last row.
  const size_t lost = broken(Break::short_copy) ? std::min<size_t>(64, (op.width + 1) / 2) : 0;
  for (size_t z = 0; z < op.depth; ++z) {
    for (size_t y = 0; y < op.height; ++y) {
      const bool last = z + 1 == op.depth && y + 1 == op.height;
      // memmove: overlapping copies are the program's fault, not a reason to fall over.
      std::memmove(op.dst + z * op.dst_slice + y * op.dst_pitch,
                   op.src + z * op.src_slice + y * op.src_pitch, op.width - (last ? lost : 0));
    }
  }
}

void perform(const FillOp& op) {
  for (size_t y = 0; y < op.height; ++y) {
    char* row = op.dst + y * op.pitch;
    switch (op.element) {
    case 1:
      std::memset(row, static_cast<int>(op.value & 0xff), op.width);
      break;
    case 2:
      fill_row<uint16_t>(row, op.value, op.width);
      break;
    default:
      fill_row<uint32_t>(row, op.value, op.width);
      break;
    }
  }
}

CopyCheck check(const CopyOp& op, Side dst, Side src) {
  CopyCheck answer{CUDA_SUCCESS, false, false};
  if (op.empty()) return answer;
  const bool pitched = op.height > 1 || op.depth > 1;
  if (pitched && (op.dst_pitch < op.width || op.src_pitch < op.width)) {
    answer.result = CUDA_ERROR_INVALID_VALUE;
    return answer;
  }
  answer.result = check_side(op.dst, op.dst_extent(), dst, answer.pageable_dst);
  if (answer.result == CUDA_SUCCESS)
    answer.result = check_side(op.src, op.src_extent(), src, answer.pageable_src);
  return answer;
}

CUresult check(const FillOp& op) {
  if (op.width == 0 || op.height == 0) return CUDA_SUCCESS;
  const auto address = reinterpret_cast<uintptr_t>(op.dst);
  if (address % op.element != 0) return CUDA_ERROR_INVALID_VALUE;
  if (op.width > std::numeric_limits<size_t>::max() / op.element) return CUDA_ERROR_INVALID_VALUE;
  const size_t row = op.width * op.element;
  if (op.height > 1 && (op.pitch < row || op.pitch % op.element != 0))
    return CUDA_ERROR_INVALID_VALUE;
  auto range = find_range(address);
  if (!range || !range->covers(address, (op.height - 1) * op.pitch + row))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult box_of(const CUDA_MEMCPY2D& copy, CopyOp& op, Side& dst, Side& src) {
  CUDA_MEMCPY3D box{};
  box.srcXInBytes = copy.srcXInBytes;
  box.srcY = copy.srcY;
  box.srcMemoryType = copy.srcMemoryType;
  box.srcHost = copy.srcHost;
  box.srcDevice = copy.srcDevice;
  box.srcPitch = copy.srcPitch;
  box.dstXInBytes = copy.dstXInBytes;
  box.dstY = copy.dstY;
  box.dstMemoryType = copy.dstMemoryType;
  box.dstHost = copy.dstHost;
  box.dstDevice = copy.dstDevice;
  box.dstPitch = copy.dstPitch;
  box.WidthInBytes = copy.WidthInBytes;
  box.Height = copy.Height;
  box.Depth = 1;
  return box_of(box, op, dst, src);
}

CUresult box_of(const CUDA_MEMCPY3D& copy, CopyOp& op, Side& dst, Side& src) {
  char* to = nullptr;
  char* from = nullptr;
  if (CUresult e = side(copy.dstMemoryType, copy.dstHost, copy.dstDevice, dst, to)) return e;
  if (CUresult e = side(copy.srcMemoryType, copy.srcHost, copy.srcDevice, src, from)) return e;
  // Pitch 0 is "rows lie close", height 0 "slices lie close", as the real driver has it.
  const size_t dst_pitch = copy.dstPitch ? copy.dstPitch : copy.WidthInBytes;
  const size_t src_pitch = copy.srcPitch ? copy.srcPitch : copy.WidthInBytes;
  const size_t dst_slice = dst_pitch * (copy.dstHeight ? copy.dstHeight : copy.Height);
  const size_t src_slice = src_pitch * (copy.srcHeight ? copy.srcHeight : copy.Height);
  op = {to ? to + copy.dstZ * dst_slice + copy.dstY * dst_pitch + copy.dstXInBytes : nullptr,
        from ? from + copy.srcZ * src_slice + copy.srcY * src_pitch + copy.srcXInBytes : nullptr,
        copy.WidthInBytes,
        copy.Height,
        copy.Depth,
        dst_pitch,
        src_pitch,
        dst_slice,
        src_slice};
  return CUDA_SUCCESS;
}

} // namespace hitproof::sim
