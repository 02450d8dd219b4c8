// Copies and fills: what they move, what they may touch, and how they are broken on purpose.
#pragma once

#include "engine/sim/cuda_subset_types.h"
#include "engine/sim/driver/stream.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace hitproof::sim {

/// A box of bytes. Pitches and slices are in bytes and not looked at where the box is flat.
struct CopyOp {
  char* dst = nullptr;
  const char* src = nullptr;
  size_t width = 0, height = 1, depth = 1;
  size_t dst_pitch = 0, src_pitch = 0, dst_slice = 0, src_slice = 0;

  static CopyOp flat(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
    return {reinterpret_cast<char*>(dst), reinterpret_cast<const char*>(src), bytes};
  }
  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  size_t dst_extent() const; // bytes from the first to behind the last touched one
  size_t src_extent() const;
};

struct FillOp {
  char* dst = nullptr;
  unsigned value = 0, element = 1;         // element: 1, 2 or 4 bytes
  size_t pitch = 0, width = 0, height = 1; // width in elements, pitch in bytes
};

/// Moves the bytes now. Under the break short_copy the end of the last row stays unwritten.
void perform(const CopyOp& op);
void perform(const FillOp& op);

/// What a side of a copy is said to be.
enum class Side { any, device, host };

/// May these bytes be moved? Addresses that the driver knows must hold the whole box; a device side
/// must be known. `pageable_*` tells which side is ordinary host memory.
struct CopyCheck {
  CUresult result;
  bool pageable_dst, pageable_src;
};
CopyCheck check(const CopyOp& op, Side dst, Side src);
CUresult check(const FillOp& op);

CUresult box_of(const CUDA_MEMCPY2D& copy, CopyOp& op, Side& dst, Side& src);
CUresult box_of(const CUDA_MEMCPY3D& copy, CopyOp& op, Side& dst, Side& src);

/// In stream order; returns when enqueued. Ordinary host memory is treated as by the real driver: a
/// small source is read before the call returns, other such copies return when they are done.
CUresult copy_async(const CopyOp& op, Side dst, Side src, CUstream stream, DefaultStream form);
/// In stream order; returns when done.
CUresult copy_now(const CopyOp& op, Side dst, Side src, DefaultStream form);
CUresult fill_async(const FillOp& op, CUstream stream, DefaultStream form);
CUresult fill_now(const FillOp& op, DefaultStream form);

} // namespace hitproof::sim
