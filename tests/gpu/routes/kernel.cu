// A kernel that reads whatever memory it is given: pinned host memory over the bus, with no copy call.
#include <cstddef>

__global__ void sum_of_bytes(const unsigned char* from, std::size_t bytes, unsigned* to) {
  unsigned sum = 0;
  for (std::size_t i = threadIdx.x; i < bytes; i += blockDim.x)
    sum += from[i];
  atomicAdd(to, sum);
}

extern "C" cudaError_t gpu_routes_sum(const unsigned char* from, std::size_t bytes, unsigned* to) {
  sum_of_bytes<<<1, 256>>>(from, bytes, to);
  return cudaGetLastError();
}
