// What every CUDA kernel of the model shares: launching, the first error, sums in the CPU's order.
#pragma once

#include "kernels/model/table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <tuple>
#include <type_traits>

namespace hitproof::kernels::cuda {

inline constexpr int warp = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;

// Keeps the first failure of this library, for error() and synchronize().
void note(cudaError_t result, const char* what) noexcept;
// A call that no kernel here can do.
void refuse(const char* what) noexcept;

// Each fills in the operations of its family.
void add_runtime(ModelKernels& table);
void add_rows_family(ModelKernels& table);
void add_gemm(ModelKernels& table);
void add_norms(ModelKernels& table);
void add_mhc(ModelKernels& table);
void add_kda_convolution(ModelKernels& table);
void add_kda_recurrence(ModelKernels& table);
void add_mla_cache(ModelKernels& table);
void add_mla_attend(ModelKernels& table);
void add_indexer_cache(ModelKernels& table);
void add_indexer_select(ModelKernels& table);
void add_moe(ModelKernels& table);

// A structure's padding would reach the device as whatever the stack held, and an observer of
// launches may take an old pointer in it for one that the kernel follows.
template <class T> void clear_padding(T& parameter) {
  if constexpr (std::is_class_v<T>) __builtin_clear_padding(&parameter);
}

template <class... P, class... A>
void launch(const char* what, void (*kernel)(P...), dim3 grid, int threads, size_t shared_bytes,
            void* stream, A&&... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  std::tuple<P...> parameters{P(args)...};
  std::apply(
      [&](P&... each) {
        (clear_padding(each), ...);
        void* pointers[] = {&each...};
#ifdef __CUDACC__
        note(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), pointers), what);
#else
        note(cudaLaunchKernelExC(&config, kernel, pointers), what);
#endif
      },
      parameters);
}

template <class T> constexpr T divide_up(T a, T b) { return (a + b - 1) / b; }
constexpr int round_up(int a, int b) { return divide_up(a, b) * b; }
inline dim3 blocks(int64_t x, int64_t y = 1, int64_t z = 1) {
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
}
// Blocks of `threads` that cover n elements.
inline dim3 cover(int64_t n, int threads) { return blocks(divide_up<int64_t>(n, threads)); }

__device__ inline int64_t global_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

template <class T> __device__ T* dynamic_shared() {
  extern __shared__ uint4 shared_memory[];
  return reinterpret_cast<T*>(shared_memory);
}

// ((l0+l4)+(l2+l6)) + ((l1+l5)+(l3+l7)) over each eight neighbouring threads, in all of them: the
// order in which the CPU sums the lanes of a vector. Every lane of the warp takes part.
__device__ inline float sum8(float v) {
  v += __shfl_xor_sync(all_lanes, v, 4);
  v += __shfl_xor_sync(all_lanes, v, 2);
  return v + __shfl_xor_sync(all_lanes, v, 1);
}

__device__ inline float max_over_warp(float v) {
  for (int step = 16; step > 0; step /= 2)
    v = fmaxf(v, __shfl_xor_sync(all_lanes, v, step));
  return v;
}

// The sum over [0, dim) by a thread block, in all its threads: eight lanes inside a block of `part`
// values, lanes folded at its end, blocks in order (norm.h). term(acc, i) adds value i to a lane.
// parts: shared, one float a block. Synchronises before and after reading parts.
template <class F> __device__ float blocked_sum(int dim, int part, float* parts, F term) {
  const int count = divide_up(dim, part);
  const int groups = static_cast<int>(blockDim.x) / 8;
  const int group = static_cast<int>(threadIdx.x) / 8, lane = static_cast<int>(threadIdx.x) % 8;
  __syncthreads();
  for (int first = 0; first < count; first += groups) {
    const int b = first + group;
    float acc = 0.0f;
    if (b < count) {
      const int end = min((b + 1) * part, dim);
      for (int i = b * part + lane; i < end; i += 8)
        acc = term(acc, i);
    }
    acc = sum8(acc);
    if (lane == 0 && b < count) parts[b] = acc;
  }
  __syncthreads();
  float total = parts[0];
  for (int b = 1; b < count; ++b)
    total += parts[b];
  return total;
}

} // namespace hitproof::kernels::cuda
