// Normalisations over rows of fp32 values.
//
// Promises: each row's bits depend on that row, dim and norm_block only. Sums run over blocks of
// norm_block values (KernelProfile::norm_block) in order. Square root and division are exact IEEE
// operations. Strides are in floats. y may be x (same stride).
#pragma once

#include <cstdint>

namespace hitproof::kernels {

// y = weight * x / sqrt(mean(x^2) + eps). weight: [dim]; nullptr = ones.
void rms_norm(const float* x, int64_t x_stride, const float* weight, float eps, int rows, int dim,
              int norm_block, float* y, int64_t y_stride) noexcept;

// sum = x + add (written to `sum`, which may be x), y = RMS norm of the sum.
void add_rms_norm(const float* x, int64_t x_stride, const float* add, int64_t add_stride,
                  const float* weight, float eps, int rows, int dim, int norm_block, float* sum,
                  int64_t sum_stride, float* y, int64_t y_stride) noexcept;

// y = weight * (x - mean) / sqrt(var + eps) + bias, two passes. weight, bias: [dim].
void layer_norm(const float* x, int64_t x_stride, const float* weight, const float* bias, float eps,
                int rows, int dim, int norm_block, float* y, int64_t y_stride) noexcept;

// y = a + b, row by row.
void add_rows(const float* a, int64_t a_stride, const float* b, int64_t b_stride, int rows, int dim,
              float* y, int64_t y_stride) noexcept;

}  // namespace hitproof::kernels
