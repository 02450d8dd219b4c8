// One projection of many rows with the kernel choice of the profile.
#pragma once

#include "engine/model/context.h"
#include "engine/model/weights.h"

namespace hitproof::engine {

inline void project(ModelContext& ctx, const Projection& w, const float* x, int64_t x_stride,
                    int rows, float* y, int64_t y_stride) {
  ctx.kernels.small_gemm(ctx.stream, x, x_stride, rows, w.k, w.packed.data(), w.n,
                         ctx.choices.use(&kernels::KernelProfile::gemm_kblock), false, y, y_stride);
}

} // namespace hitproof::engine
