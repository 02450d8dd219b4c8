// Row movers, the choice of tokens, visible counts.
#include "kernels/model/cuda/device.cuh"

#include <climits>

namespace hitproof::kernels::cuda {
namespace {

constexpr int threads = 256;

// One thread an element of [rows][cols].
struct Cell {
  int64_t row;
  int col;
  __device__ static Cell of(int64_t index, int cols) {
    return {index / cols, static_cast<int>(index % cols)};
  }
};

__global__ void gather_kernel(const float* table, int64_t table_stride, const int32_t* index,
                              int rows, int cols, float* out, int64_t out_stride) {
  const int64_t i = global_index();
  if (i >= static_cast<int64_t>(rows) * cols) return;
  const Cell at = Cell::of(i, cols);
  const int64_t source = index[at.row];
  out[at.row * out_stride + at.col] = source < 0 ? 0.0f : table[source * table_stride + at.col];
}

void gather_rows(void* stream, const float* table, int64_t table_stride, const int32_t* index,
                 int rows, int cols, float* out, int64_t out_stride) {
  if (rows <= 0) return;
  launch("gather_rows", gather_kernel, cover(static_cast<int64_t>(rows) * cols, threads), threads,
         0, stream, table, table_stride, index, rows, cols, out, out_stride);
}

__global__ void copy_kernel(const uint32_t* from, int64_t from_stride, int rows, int cols,
                            uint32_t* to, int64_t to_stride) {
  const int64_t i = global_index();
  if (i >= static_cast<int64_t>(rows) * cols) return;
  const Cell at = Cell::of(i, cols);
  to[at.row * to_stride + at.col] = from[at.row * from_stride + at.col];
}

void copy_rows(void* stream, const void* from, int64_t from_stride, int rows, int cols, void* to,
               int64_t to_stride) {
  if (rows <= 0) return;
  launch("copy_rows", copy_kernel, cover(static_cast<int64_t>(rows) * cols, threads), threads, 0,
         stream, static_cast<const uint32_t*>(from), from_stride, rows, cols,
         static_cast<uint32_t*>(to), to_stride);
}

constexpr int best_threads = 1024;
constexpr int no_token = INT_MAX;

__device__ RowBest better(const RowBest& a, const RowBest& b) {
  const bool second_wins = b.best > a.best || (b.best == a.best && b.token < a.token);
  if (second_wins) return {b.best, fmaxf(a.best, b.second), b.token};
  return {a.best, fmaxf(a.second, b.best), a.token};
}

__device__ RowBest best_over_warp(RowBest b) {
  for (int step = 16; step > 0; step /= 2) {
    const RowBest other{__shfl_xor_sync(all_lanes, b.best, step),
                        __shfl_xor_sync(all_lanes, b.second, step),
                        __shfl_xor_sync(all_lanes, b.token, step)};
    b = better(b, other);
  }
  return b;
}

__global__ void best_kernel(const float* logits, int64_t stride, int n, int32_t first,
                            RowBest* best) {
  __shared__ RowBest of_warp[best_threads / warp];
  const int tid = static_cast<int>(threadIdx.x);
  const float* row = logits + static_cast<int64_t>(blockIdx.x) * stride;
  const float lowest = __uint_as_float(0xff800000u);
  RowBest b{lowest, lowest, no_token};
  for (int i = tid; i < n; i += best_threads) {
    const float x = row[i];
    if (x > b.best) {
      b = {x, b.best, i};
    } else if (x > b.second) {
      b.second = x;
    }
  }
  b = best_over_warp(b);
  if (tid % warp == 0) of_warp[tid / warp] = b;
  __syncthreads();
  if (tid >= warp) return;
  b = best_over_warp(of_warp[tid]);
  if (tid == 0) {
    b.token = first + (b.token == no_token ? 0 : b.token);
    best[blockIdx.x] = b;
  }
}

void best_tokens(void* stream, const float* logits, int64_t stride, int rows, int n, int32_t first,
                 RowBest* best) {
  if (rows <= 0) return;
  launch("best_tokens", best_kernel, blocks(rows), best_threads, 0, stream, logits, stride, n,
         first, best);
}

__global__ void visible_kernel(int64_t first, int rows, int32_t* counts) {
  const int64_t r = global_index();
  if (r < rows) counts[r] = static_cast<int32_t>(first + r + 1);
}

void count_visible(void* stream, int64_t first, int rows, int32_t* counts) {
  if (rows <= 0) return;
  launch("count_visible", visible_kernel, cover(rows, threads), threads, 0, stream, first, rows,
         counts);
}

} // namespace

void add_rows_family(ModelKernels& table) {
  table.gather_rows = gather_rows;
  table.copy_rows = copy_rows;
  table.best_tokens = best_tokens;
  table.count_visible = count_visible;
}

} // namespace hitproof::kernels::cuda
