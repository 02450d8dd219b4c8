// The page kernels as the driver loads them (cuLibraryLoadData): for compute
// capability 8.0, 9.0, 10.0, 12.0, and PTX for what comes after. The kernels' names and parameters
// are those of page_kernels.cu.
#pragma once

#include <span>

namespace hitproof::kernels {

// Empty where this was built without nvcc.
std::span<const unsigned char> page_fatbin() noexcept;

} // namespace hitproof::kernels
