#include "kernels/model/nvfp4.h"

#include "kernels/model/numeric.h"

namespace hitproof::kernels {
namespace {

constexpr float e2m1_table[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                  -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

}  // namespace

void nvfp4_dequantise(const uint8_t* packed, const uint8_t* scale, float global_scale, int rows,
                      int cols, float* out) noexcept {
  const int groups = cols / 16;
  for (int r = 0; r < rows; ++r) {
    for (int g = 0; g < groups; ++g) {
      const float s = e4m3_to_float(scale[int64_t{r} * groups + g]) / global_scale;
      const uint8_t* codes = packed + (int64_t{r} * groups + g) * 8;
      float* dst = out + int64_t{r} * cols + int64_t{g} * 16;
      for (int i = 0; i < 8; ++i) {
        dst[2 * i] = e2m1_table[codes[i] & 15] * s;
        dst[2 * i + 1] = e2m1_table[codes[i] >> 4] * s;
      }
    }
  }
}

void fp8_block_dequantise(const uint8_t* codes, const float* scale, int rows, int cols,
                          float* out) noexcept {
  const int block_cols = (cols + 127) / 128;
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) {
      const float s = scale[int64_t{r / 128} * block_cols + c / 128];
      out[int64_t{r} * cols + c] = e4m3_to_float(codes[int64_t{r} * cols + c]) * s;
    }
  }
}

}  // namespace hitproof::kernels
