// Short convolution with an fp32 history, for exact numerics; the serving path keeps it in BF16
// (kernels/model/kda.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hitproof::kernels {

// As kda_conv_silu and kda_conv_state, history [slots][channels] in fp32, not rounded.
void exact_conv_silu(const float* raw, int64_t raw_stride, int rows, int channels,
                     const float* weight, const float* history, int slots, float* out,
                     int64_t out_stride);
void exact_conv_state(const float* raw, int64_t raw_stride, int rows, int channels,
                      const float* history, int slots, float* out);

} // namespace hitproof::kernels
