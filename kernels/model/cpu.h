// Which processor the model's kernels need, and whether this one has it.
// This unit alone is compiled for the plain x86-64 baseline, so that it can answer on any machine.
#pragma once

namespace hitproof::kernels {

// True where AVX2, FMA, F16C, BMI2 and the rest of x86-64-v3 that the kernels use are present and
// enabled by the operating system. Call it before any other function of kernels/model.
bool cpu_supported() noexcept;

// One sentence for the user that names what is missing; "" where nothing is.
const char* cpu_support_message() noexcept;

}  // namespace hitproof::kernels
