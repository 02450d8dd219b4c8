// Number formats of the caches (BF16, FP8 E4M3FN) and the elementary functions of the model.
//
// Promises: conversions are exact and round to nearest even; exp, sigmoid and silu have a relative
// error below 2e-7; every function gives an element the same bits whatever its neighbours and the
// length of the array. No alignment is required; input and output may be the same array where the
// types allow it. All counts are elements.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hitproof::kernels {

// BF16. NaN stays NaN (quiet). Overflow of the rounding gives infinity.
float bf16_to_float(uint16_t bits) noexcept;
uint16_t float_to_bf16(float value) noexcept;
void bf16_to_float(const uint16_t* in, float* out, size_t n) noexcept;
void float_to_bf16(const float* in, uint16_t* out, size_t n) noexcept;
void round_to_bf16(const float* in, float* out, size_t n) noexcept;  // BF16 and back

// FP8 E4M3FN: bias 7, largest 448, NaN = 0x7f and 0xff, no infinity. The encoder saturates to
// +-448 (infinities too), keeps the sign of zero and maps NaN to 0x7f.
float e4m3_to_float(uint8_t code) noexcept;
uint8_t float_to_e4m3(float value) noexcept;
void e4m3_to_float(const uint8_t* in, float* out, size_t n) noexcept;
void float_to_e4m3(const float* in, uint8_t* out, size_t n) noexcept;

// e^x; 0 below -87.33 (no denormal results), +inf above 88.72, NaN for NaN.
void vector_exp(const float* in, float* out, size_t n) noexcept;
// 1 / (1 + e^-x); e^-x is taken at -87 for x below -87
void vector_sigmoid(const float* in, float* out, size_t n) noexcept;
// x / (1 + e^-x), likewise
void vector_silu(const float* in, float* out, size_t n) noexcept;

// Natural-order Walsh-Hadamard transform of each row in place, scaled by 1/sqrt(dim); butterflies of
// stride 1, 2, 4, ... in fp32 (docs/model.md 2.5). dim is a power of two, 8 to 256.
void hadamard_rows(float* x, int64_t stride, int rows, int dim) noexcept;

}  // namespace hitproof::kernels
