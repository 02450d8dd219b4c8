// Normalisations: one thread block a row, sums in the CPU's order.
#include "kernels/model/cuda/device.cuh"

namespace hitproof::kernels::cuda {
namespace {

constexpr int element_threads = 256;

int row_threads(int dim, int norm_block) {
  const int lanes = 8 * divide_up(dim, norm_block);
  return std::clamp(round_up(std::max(lanes, dim / 4), warp), warp, 512);
}

size_t part_bytes(int dim, int norm_block) { return sizeof(float) * divide_up(dim, norm_block); }

__device__ float sum_of_squares(const float* x, int dim, int norm_block, float* parts) {
  return blocked_sum(dim, norm_block, parts,
                     [x](float acc, int i) { return fmaf(x[i], x[i], acc); });
}

__device__ float inverse_root(float squares, int dim, float eps) {
  return 1.0f / sqrtf(squares / static_cast<float>(dim) + eps);
}

__device__ void scale_row(const float* x, float factor, const float* weight, int dim, float* y) {
  for (int i = static_cast<int>(threadIdx.x); i < dim; i += static_cast<int>(blockDim.x)) {
    const float v = x[i] * factor;
    y[i] = weight == nullptr ? v : v * weight[i];
  }
}

__global__ void rms_kernel(const float* x, int64_t x_stride, const float* weight, float eps,
                           int dim, int norm_block, float* y, int64_t y_stride) {
  float* parts = dynamic_shared<float>();
  const int64_t r = blockIdx.x;
  const float* row = x + r * x_stride;
  const float squares = sum_of_squares(row, dim, norm_block, parts);
  scale_row(row, inverse_root(squares, dim, eps), weight, dim, y + r * y_stride);
}

void rms_norm(void* stream, const float* x, int64_t x_stride, const float* weight, float eps,
              int rows, int dim, int norm_block, float* y, int64_t y_stride) {
  if (rows <= 0) return;
  launch("rms_norm", rms_kernel, blocks(rows), row_threads(dim, norm_block),
         part_bytes(dim, norm_block), stream, x, x_stride, weight, eps, dim, norm_block, y,
         y_stride);
}

__global__ void add_rms_kernel(const float* x, int64_t x_stride, const float* add,
                               int64_t add_stride, const float* weight, float eps, int dim,
                               int norm_block, float* sum, int64_t sum_stride, float* y,
                               int64_t y_stride) {
  float* parts = dynamic_shared<float>();
  const int64_t r = blockIdx.x;
  float* row = sum + r * sum_stride;
  for (int i = static_cast<int>(threadIdx.x); i < dim; i += static_cast<int>(blockDim.x)) {
    row[i] = x[r * x_stride + i] + add[r * add_stride + i];
  }
  const float squares = sum_of_squares(row, dim, norm_block, parts); // synchronises first
  scale_row(row, inverse_root(squares, dim, eps), weight, dim, y + r * y_stride);
}

void add_rms_norm(void* stream, const float* x, int64_t x_stride, const float* add,
                  int64_t add_stride, const float* weight, float eps, int rows, int dim,
                  int norm_block, float* sum, int64_t sum_stride, float* y, int64_t y_stride) {
  if (rows <= 0) return;
  launch("add_rms_norm", add_rms_kernel, blocks(rows), row_threads(dim, norm_block),
         part_bytes(dim, norm_block), stream, x, x_stride, add, add_stride, weight, eps, dim,
         norm_block, sum, sum_stride, y, y_stride);
}

__global__ void layer_kernel(const float* x, int64_t x_stride, const float* weight,
                             const float* bias, float eps, int dim, int norm_block, float* y,
                             int64_t y_stride) {
  float* parts = dynamic_shared<float>();
  const int64_t r = blockIdx.x;
  const float* row = x + r * x_stride;
  const float mean =
      blocked_sum(dim, norm_block, parts, [row](float acc, int i) { return acc + row[i]; }) /
      static_cast<float>(dim);
  const float squares = blocked_sum(dim, norm_block, parts, [row, mean](float acc, int i) {
    const float d = row[i] - mean;
    return fmaf(d, d, acc);
  });
  const float inv = inverse_root(squares, dim, eps);
  for (int i = static_cast<int>(threadIdx.x); i < dim; i += static_cast<int>(blockDim.x)) {
    y[r * y_stride + i] = fmaf((row[i] - mean) * inv, weight[i], bias[i]);
  }
}

void layer_norm(void* stream, const float* x, int64_t x_stride, const float* weight,
                const float* bias, float eps, int rows, int dim, int norm_block, float* y,
                int64_t y_stride) {
  if (rows <= 0) return;
  launch("layer_norm", layer_kernel, blocks(rows), row_threads(dim, norm_block),
         part_bytes(dim, norm_block), stream, x, x_stride, weight, bias, eps, dim, norm_block, y,
         y_stride);
}

__global__ void add_kernel(const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                           int rows, int dim, float* y, int64_t y_stride) {
  const int64_t index = global_index();
  if (index >= static_cast<int64_t>(rows) * dim) return;
  const int64_t r = index / dim, i = index % dim;
  y[r * y_stride + i] = a[r * a_stride + i] + b[r * b_stride + i];
}

void add_rows(void* stream, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
              int rows, int dim, float* y, int64_t y_stride) {
  if (rows <= 0) return;
  launch("add_rows", add_kernel, cover(static_cast<int64_t>(rows) * dim, element_threads),
         element_threads, 0, stream, a, a_stride, b, b_stride, rows, dim, y, y_stride);
}

} // namespace

void add_norms(ModelKernels& table) {
  table.rms_norm = rms_norm;
  table.add_rms_norm = add_rms_norm;
  table.layer_norm = layer_norm;
  table.add_rows = add_rows;
}

} // namespace hitproof::kernels::cuda
