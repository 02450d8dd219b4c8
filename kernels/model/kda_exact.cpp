#include "kernels/model/kda_exact.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace hitproof::kernels {
namespace {

// Input of channel ch, `back` tokens before row t; zero before the first token.
float tap(const float* raw, int64_t stride, int t, const float* history, int slots, int channels,
          int ch) {
  if (t >= 0) return raw[t * stride + ch];
  const int slot = slots + t;
  if (history == nullptr || slot < 0) return 0.0f;
  return history[static_cast<ptrdiff_t>(slot) * channels + ch];
}

} // namespace

void exact_conv_silu(const float* raw, int64_t raw_stride, int rows, int channels,
                     const float* weight, const float* history, int slots, float* out,
                     int64_t out_stride) {
  for (int t = 0; t < rows; ++t) {
    for (int ch = 0; ch < channels; ++ch) {
      float sum = 0.0f;
      for (int j = 0; j < 4; ++j) {
        sum += weight[j * channels + ch] *
               tap(raw, raw_stride, t - 3 + j, history, slots, channels, ch);
      }
      out[t * out_stride + ch] = sum / (1.0f + std::exp(-sum));
    }
  }
}

void exact_conv_state(const float* raw, int64_t raw_stride, int rows, int channels,
                      const float* history, int slots, float* out) {
  std::vector<float> next(static_cast<size_t>(slots) * static_cast<size_t>(channels));
  for (int s = 0; s < slots; ++s) {
    for (int ch = 0; ch < channels; ++ch) {
      next[static_cast<size_t>(s * channels + ch)] =
          tap(raw, raw_stride, rows - slots + s, history, slots, channels, ch);
    }
  }
  std::memcpy(out, next.data(), next.size() * sizeof(float));
}

} // namespace hitproof::kernels
