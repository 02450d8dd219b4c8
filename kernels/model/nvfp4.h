// Exact dequantisation of quantised weights (docs/model.md 3.2).
#pragma once

#include <cstdint>

namespace hitproof::kernels {

// compressed-tensors NVFP4: out[o][i] = e2m1(o, i) * (float(scale[o][i/16]) / global_scale).
// packed: [rows][cols/2], low nibble first; scale: [rows][cols/16] e4m3 codes; global_scale is the
// stored reciprocal (a divisor); out: [rows][cols]. cols is a multiple of 16.
void nvfp4_dequantise(const uint8_t* packed, const uint8_t* scale, float global_scale, int rows,
                      int cols, float* out) noexcept;

// Block FP8: out[r][c] = e4m3(codes[r][c]) * scale[r/128][c/128]; scale: [ceil(rows/128)]
// [ceil(cols/128)] fp32, a multiplier (weight_scale_inv).
void fp8_block_dequantise(const uint8_t* codes, const float* scale, int rows, int cols,
                          float* out) noexcept;

}  // namespace hitproof::kernels
