// What libhitproof_matmul.so exports: one C function, found by name. libtorch takes half a second of
// every process that loads it, and only a rank needs it; so it is not linked but loaded at the first
// product.
#pragma once

#include <cstdint>

extern "C" {

// As hitproof::engine::large_matmul.
__attribute__((visibility("default"))) void hitproof_large_matmul(const float* a, int64_t lda,
                                                                  int rows, const float* w, int n,
                                                                  int k, float* c, int64_t ldc);
}
