// The kind of a copy, as memory types of the driver's box copies.
#pragma once

#include "engine/sim/cuda_subset.h"
#include "engine/sim/cudart_subset.h"

namespace hitproof::sim {

inline CUmemorytype side_of(cudaMemcpyKind kind, bool source) {
  switch (kind) {
  case cudaMemcpyHostToHost:
    return CU_MEMORYTYPE_HOST;
  case cudaMemcpyHostToDevice:
    return source ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  case cudaMemcpyDeviceToHost:
    return source ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  case cudaMemcpyDeviceToDevice:
    return CU_MEMORYTYPE_DEVICE;
  default:
    return CU_MEMORYTYPE_UNIFIED;
  }
}

} // namespace hitproof::sim
