// Products with packed weights (small_gemm.h) by a thread block: a tile of many rows, or a panel of
// 16 outputs for few rows. Each output is summed by one thread over k in order inside blocks of
// kblock, the blocks in order: whatever the tile, a row's bits are those of the CPU.
#pragma once

#include "kernels/model/cuda/device.cuh"

namespace hitproof::kernels::cuda {

inline constexpr int panel = 16; // outputs of a packed panel
inline constexpr int tile_columns = 64;
inline constexpr int tile_depth = 16; // inputs of a tile in shared memory
inline constexpr int tile_threads = 256;

// As gemm_packed_floats.
constexpr size_t packed_floats(int n, int k) {
  return static_cast<size_t>(round_up(n, panel)) * static_cast<size_t>(k);
}

struct Product {
  const float* a;
  int64_t lda;
  const int32_t* row_index; // null: row r of a itself
  int rows;
  int k;
  const float* packed; // on 16-byte borders
  int n;
  int kblock;
  bool accumulate;
  float* c;
  int64_t ldc;

  __device__ const float* source(int row) const {
    return a + static_cast<int64_t>(row_index == nullptr ? row : row_index[row]) * lda;
  }
};

// How a panel's work is spread over threads where rows are few.
struct FewShape {
  int groups; // kblocks summed side by side, a power of two
  int span;   // inputs of a group in shared memory at a time
  int threads;
};
inline constexpr int few_rows = 4; // rows at a time

FewShape few_shape(int k, int kblock);
size_t few_shared_bytes(const FewShape& shape, int rows);

// Enqueues the product.
void multiply(const char* what, Product product, void* stream);

// Rows [row0, row0 + 16 TM) by columns [col0, col0 + 64); 256 threads.
template <int TM> __device__ void tile_product(const Product& p, int row0, int col0) {
  constexpr int tile_rows = 16 * TM;
  alignas(16) __shared__ float as[tile_depth][tile_rows + 4];
  alignas(16) __shared__ float bs[tile_depth][tile_columns];
  const int tid = static_cast<int>(threadIdx.x);
  const int tx = tid % 16, ty = tid / 16;

  const float* source[TM]; // rows that this thread fetches: ty, ty + 16, ...
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = row0 + ty + 16 * i;
    source[i] = row < p.rows ? p.source(row) : nullptr;
  }
  const int own_panel = col0 / panel + tx / 4;
  const bool has_panel = own_panel * panel < p.n;
  const float* weights = p.packed + static_cast<int64_t>(own_panel) * p.k * panel + tx % 4 * 4;

  float next_a[TM];
  float4 next_b;
  const auto fetch = [&](int k0, int count) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      next_a[i] = source[i] != nullptr && tx < count ? source[i][k0 + tx] : 0.0f;
    }
    next_b = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (has_panel && ty < count) {
      next_b = *reinterpret_cast<const float4*>(weights + static_cast<int64_t>(k0 + ty) * panel);
    }
  };

  float total[TM][4], acc[TM][4];
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      total[i][j] = acc[i][j] = 0.0f;
  }
  const auto step = [&](int kk) {
    float a[TM];
#pragma unroll
    for (int i = 0; i < TM; ++i)
      a[i] = as[kk][ty * TM + i];
    const float4 b = *reinterpret_cast<const float4*>(&bs[kk][tx * 4]);
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      acc[i][0] = fmaf(a[i], b.x, acc[i][0]);
      acc[i][1] = fmaf(a[i], b.y, acc[i][1]);
      acc[i][2] = fmaf(a[i], b.z, acc[i][2]);
      acc[i][3] = fmaf(a[i], b.w, acc[i][3]);
    }
  };

  int k0 = 0;
  int block_end = min(p.kblock, p.k);
  int count = min(tile_depth, block_end);
  bool first_block = true;
  fetch(k0, count);
  while (true) {
#pragma unroll
    for (int i = 0; i < TM; ++i)
      as[tx][ty + 16 * i] = next_a[i];
    *reinterpret_cast<float4*>(&bs[ty][tx * 4]) = next_b;
    __syncthreads();
    const int next = k0 + count;
    const int next_end = next < block_end ? block_end : min(block_end + p.kblock, p.k);
    const int next_count = min(tile_depth, next_end - next);
    if (next < p.k) fetch(next, next_count);
    if (count == tile_depth) {
#pragma unroll
      for (int kk = 0; kk < tile_depth; ++kk)
        step(kk);
    } else {
      for (int kk = 0; kk < count; ++kk)
        step(kk);
    }
    if (next == block_end) {
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          total[i][j] = first_block ? acc[i][j] : total[i][j] + acc[i][j];
          acc[i][j] = 0.0f;
        }
      }
      first_block = false;
    }
    if (next >= p.k) break;
    __syncthreads();
    k0 = next;
    count = next_count;
    block_end = next_end;
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = row0 + ty * TM + i;
    if (row >= p.rows) break;
    float* out = p.c + row * p.ldc + col0 + tx * 4;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (col0 + tx * 4 + j < p.n) out[j] = p.accumulate ? out[j] + total[i][j] : total[i][j];
    }
  }
}

// Rows [row0, row0 + R) by one panel. Threads load groups of kblocks together; thread (group,
// output) sums its kblock alone; then the groups are added in order.
template <int R>
__device__ void few_product(const Product& p, const FewShape& s, int row0, int panel_index) {
  const int w_stride = s.span * panel + panel; // the odd half line keeps groups on other banks
  const int a_stride = s.span + 4;
  float* w = dynamic_shared<float>();
  float* a = w + s.groups * w_stride;
  float* parts = a + R * s.groups * a_stride;
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int out = tid % panel, group = tid / panel;
  const float* weights = p.packed + static_cast<int64_t>(panel_index) * p.k * panel;

  float total = 0.0f;
  const int round_inputs = s.groups * p.kblock;
  for (int round = 0; round < p.k; round += round_inputs) {
    float acc[R];
#pragma unroll
    for (int r = 0; r < R; ++r)
      acc[r] = 0.0f;
    for (int sub = 0; sub < p.kblock; sub += s.span) {
      const int width = min(s.span, p.kblock - sub);
      __syncthreads();
      // Four outputs of an input at a time, then the inputs themselves.
      for (int i = tid; i < s.groups * width * 4; i += threads) {
        const int g = i / (width * 4), kk = i / 4 % width;
        const int k = round + g * p.kblock + sub + kk;
        if (k < p.k) {
          *reinterpret_cast<float4*>(&w[g * w_stride + kk * panel + i % 4 * 4]) =
              *reinterpret_cast<const float4*>(weights + static_cast<int64_t>(k) * panel +
                                               i % 4 * 4);
        }
      }
      for (int r = 0; r < R; ++r) {
        if (row0 + r >= p.rows) break;
        const float* row = p.source(row0 + r);
        for (int i = tid; i < s.groups * width; i += threads) {
          const int g = i / width, kk = i % width;
          const int k = round + g * p.kblock + sub + kk;
          if (k < p.k) a[(r * s.groups + g) * a_stride + kk] = row[k];
        }
      }
      __syncthreads();
      if (group < s.groups) {
        const int count = min(width, p.k - (round + group * p.kblock + sub));
        const float* own_w = w + group * w_stride + out;
        const float* own_a = a + group * a_stride;
        int kk = 0;
        for (; kk + 4 <= count; kk += 4) {
          float x[4];
#pragma unroll
          for (int i = 0; i < 4; ++i)
            x[i] = own_w[(kk + i) * panel];
#pragma unroll
          for (int r = 0; r < R; ++r) {
            const float4 y = *reinterpret_cast<const float4*>(own_a + r * s.groups * a_stride + kk);
            acc[r] = fmaf(y.x, x[0], acc[r]);
            acc[r] = fmaf(y.y, x[1], acc[r]);
            acc[r] = fmaf(y.z, x[2], acc[r]);
            acc[r] = fmaf(y.w, x[3], acc[r]);
          }
        }
        for (; kk < count; ++kk) {
#pragma unroll
          for (int r = 0; r < R; ++r) {
            acc[r] = fmaf(own_a[r * s.groups * a_stride + kk], own_w[kk * panel], acc[r]);
          }
        }
      }
    }
    if (group < s.groups) {
#pragma unroll
      for (int r = 0; r < R; ++r)
        parts[(group * R + r) * panel + out] = acc[r];
    }
    __syncthreads();
    if (tid < R * panel) {
      for (int g = 0; g < s.groups && round + g * p.kblock < p.k; ++g) {
        const float part = parts[g * R * panel + tid];
        total = round == 0 && g == 0 ? part : total + part;
      }
    }
  }
  const int row = row0 + tid / panel, column = panel_index * panel + out;
  if (tid < R * panel && row < p.rows && column < p.n) {
    float* to = p.c + row * p.ldc + column;
    *to = p.accumulate ? *to + total : total;
  }
}

} // namespace hitproof::kernels::cuda
