// Projections: C[rows, N] = A[rows, K] * W[N, K]^T in fp32 with weights packed in advance.
//
// Promises: the bits of a row of C depend on that row of A, on W and on kblock only, never on how
// many rows are computed together. Each element is summed over k in order with fused multiply-adds
// inside blocks of kblock (KernelProfile::gemm_kblock or moe_block), the blocks in order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hitproof::kernels {

// Packed weights: panels of 16 outputs, each [K][16], the last one padded with zeros.
size_t gemm_packed_floats(int n, int k) noexcept;
// w: [n][k], row stride ldw. Several matrices that share their input may be packed as one: place
// them below each other in w (q|k|v|b|f_a|g_a).
void gemm_pack(const float* w, int64_t ldw, int n, int k, float* packed) noexcept;
// As gemm_pack, for rows [first, first + count) of a packed matrix of n rows: packs part by part.
void gemm_pack_rows(const float* w, int64_t ldw, int n, int k, int first, int count,
                    float* packed) noexcept;

// lda, ldc: row strides in floats. accumulate: C += instead of C =. A and C must not overlap.
void small_gemm(const float* a, int64_t lda, int rows, int k, const float* packed, int n,
                int kblock, bool accumulate, float* c, int64_t ldc) noexcept;

// As small_gemm, row r of A being a + row_index[r] * lda (row_index == nullptr: r itself).
void small_gemm_gather(const float* a, int64_t lda, const int32_t* row_index, int rows, int k,
                       const float* packed, int n, int kblock, bool accumulate, float* c,
                       int64_t ldc) noexcept;

// Many small products of one shape, one per head h (MLA absorption): for every row r and head h
// c[r*ldc + h*n + j] = sum_i a[r*lda + h*k + i] * W_h[j][i]; packed: heads matrices one after
// another, gemm_packed_floats(n, k) apart.
void small_gemm_heads(const float* a, int64_t lda, int rows, int heads, int k, const float* packed,
                      int n, int kblock, float* c, int64_t ldc) noexcept;

}  // namespace hitproof::kernels
