// A program that exports a driver name of its own, as a probe does. The driver's table of entry
// points must still lead to the driver's function, and the driver's own calls must not come here.
#include <cstdio>

#define HITPROOF_CUDA_EXPLICIT_NAMES
#include "engine/sim/cuda_subset.h"

static int calls_here = 0;

extern "C" CUresult cuMemcpyDtoD_v2(CUdeviceptr, CUdeviceptr, size_t) {
  ++calls_here;
  return CUDA_ERROR_UNKNOWN;
}
extern "C" CUresult cuStreamDestroy_v2(CUstream) {
  ++calls_here;
  return CUDA_ERROR_UNKNOWN;
}

int main() {
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  void* entry = nullptr;
  if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
      cuMemAlloc_v2(&memory, 1024) || cuStreamCreate(&stream, 0))
    return 1;
  if (cuGetProcAddress_v2("cuMemcpyDtoD", &entry, 13000, 0, nullptr)) return 2;
  const auto copy = reinterpret_cast<decltype(&cuMemcpyDtoD_v2)>(entry);
  if (copy(memory + 512, memory, 512) != CUDA_SUCCESS) return 3;
  if (cuStreamDestroy(stream) != CUDA_SUCCESS) return 4; // is cuStreamDestroy_v2 inside
  if (calls_here != 0) return 5;
  std::puts("the driver kept to its own functions");
  return 0;
}
