// The library that matmul.cpp loads: the one unit that includes headers of libtorch.
#include "engine/model/matmul_torch.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <cstring>
#include <vector>

namespace {

constexpr int tile = 64;

at::Tensor view(const float* data, int64_t rows, int64_t cols, int64_t stride) {
  // from_blob takes no const pointer; the tensors made here for inputs are only read.
  return at::from_blob(const_cast<float*>(data), {rows, cols}, {stride, 1},
                       at::TensorOptions().dtype(at::kFloat));
}

} // namespace

extern "C" void hitproof_large_matmul(const float* a, int64_t lda, int rows, const float* w, int n,
                                      int k, float* c, int64_t ldc) {
  static const bool single_thread = [] {
    at::set_num_threads(1);
    return true;
  }();
  (void)single_thread;
  const at::NoGradGuard no_gradients;
  const at::Tensor weights = view(w, n, k, k).t();
  int begin = 0;
  for (; begin + tile <= rows; begin += tile) {
    at::Tensor out = view(c + begin * ldc, tile, n, ldc);
    at::mm_out(out, view(a + begin * lda, tile, k, lda), weights);
  }
  if (begin == rows) return;
  // The rest goes through a whole tile with zero rows: another shape would be summed in another
  // order.
  thread_local std::vector<float> in, out;
  in.assign(static_cast<size_t>(tile) * static_cast<size_t>(k), 0.0f);
  out.resize(static_cast<size_t>(tile) * static_cast<size_t>(n));
  for (int r = begin; r < rows; ++r) {
    std::memcpy(in.data() + static_cast<size_t>(r - begin) * static_cast<size_t>(k), a + r * lda,
                static_cast<size_t>(k) * sizeof(float));
  }
  at::Tensor result = view(out.data(), tile, n, n);
  at::mm_out(result, view(in.data(), tile, k, k), weights);
  for (int r = begin; r < rows; ++r) {
    std::memcpy(c + r * ldc, out.data() + static_cast<size_t>(r - begin) * static_cast<size_t>(n),
                static_cast<size_t>(n) * sizeof(float));
  }
}
