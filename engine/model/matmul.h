// Large products by libtorch, which is loaded at the first of them.
//
// Used where weights are prepared. On the small projections of a step the packed kernels of
// kernels/model are faster (58 against 50 GFLOP/s at 128 x 64 x 611, thirty times at one row), so
// steps do not come here. Promises: one thread, no allocation by the caller, and equal bits for
// equal inputs whatever the call before was. Rows are multiplied in tiles of one fixed shape, so
// that a row's bits do not depend on how many rows come with it.
#pragma once

#include <cstdint>

namespace hitproof::engine {

/// c[rows][n] = a[rows][k] * w[n][k]^T, fp32. Row strides lda and ldc in floats; w contiguous. Not
/// thread safe against itself in one process before the first call has returned. Throws
/// std::runtime_error where libtorch cannot be loaded.
void large_matmul(const float* a, int64_t lda, int rows, const float* w, int n, int k, float* c,
                  int64_t ldc);

} // namespace hitproof::engine
