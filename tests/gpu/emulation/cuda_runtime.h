// The part of CUDA that the model's kernels use, on the host: what stands in for the toolkit's
// header when a .cu file is compiled as C++.
//
// Thread blocks run one after the other; the threads of a block are fibers that hand over at
// barriers and warp operations. They run in a shuffled order, so that a missing barrier shows
// (HITPROOF_EMULATION_ORDER: forward and backward are the other choices). Shared and fresh device
// memory starts as NaN. A barrier that not every thread reaches, and a warp operation with missing
// lanes, end the process with a message.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

// A shared variable belongs to the block in flight, and one thread runs them all.
#define __shared__ thread_local
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_in = 1, unsigned y_in = 1, unsigned z_in = 1)
      : x(x_in), y(y_in), z(z_in) {}
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

using cudaStream_t = void*;
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorMemoryAllocation };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
};

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int ordinal);
cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMallocHost(void** memory, size_t bytes);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

namespace emulation {

cudaError_t run(const cudaLaunchConfig_t& config, const std::function<void()>& thread);
void sync_block();
void sync_warp();
// Where the lanes of the running thread's warp leave a value for each other, 16 bytes each.
std::byte* lane_slot(unsigned lane);

template <class T> T exchange(T value, unsigned from) {
  static_assert(sizeof(T) <= 16);
  std::memcpy(lane_slot(threadIdx.x % 32), &value, sizeof value);
  sync_warp();
  std::memcpy(&value, lane_slot(from), sizeof value);
  sync_warp();
  return value;
}

} // namespace emulation

template <class... P>
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, void (*kernel)(P...),
                                void** parameters) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return emulation::run(*config, [&] { kernel(*static_cast<P*>(parameters[I])...); });
  }
  (std::index_sequence_for<P...>{});
}

inline void __syncthreads() { emulation::sync_block(); }
inline void __syncwarp() { emulation::sync_warp(); }
template <class T> T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulation::exchange(value, threadIdx.x % 32 ^ static_cast<unsigned>(mask));
}
template <class T> T __shfl_sync(unsigned, T value, int lane) {
  return emulation::exchange(value, static_cast<unsigned>(lane));
}
inline unsigned __ballot_sync(unsigned, bool vote) {
  unsigned result = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    result |= static_cast<unsigned>(emulation::exchange(vote, lane)) << lane;
  return result;
}
inline int __popc(unsigned v) { return std::popcount(v); }
inline float __uint_as_float(uint32_t v) { return std::bit_cast<float>(v); }
inline uint32_t __float_as_uint(float v) { return std::bit_cast<uint32_t>(v); }
inline int atomicAdd(int* to, int value) {
  const int before = *to;
  *to += value;
  return before;
}
template <class T> T min(T a, T b) { return b < a ? b : a; }
template <class T> T max(T a, T b) { return a < b ? b : a; }
