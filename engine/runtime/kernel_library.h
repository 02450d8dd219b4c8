// What `--device cuda` needs before anything is allocated: the library of the model's CUDA kernels,
// and a GPU that can run them.
//
// Promise: what is missing is named with its numbers and a remedy, as EnvironmentError; the program
// ends with exit code 2 for it.
#pragma once

#include "kernels/model/table.h"

#include <cstddef>
#include <stdexcept>
#include <string>

namespace hitproof::engine {

struct EnvironmentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Kernel images are built for compute capability 8.0 and later.
inline constexpr int least_capability = 80; // 10 * major + minor

// The table of ../lib/hitproof/libhitproof_model_cuda.so beside the running program. The library
// stays loaded.
const kernels::ModelKernels& load_cuda_kernels();

// Runtime, driver and the GPU of that ordinal fit together. Makes no context, takes no GPU memory.
// `option`: what named the ordinal, for the message.
void check_gpu(int ordinal, const std::string& option);

// GPU `from` reads the memory of GPU `to`.
bool reaches_peer(int from, int to);

// The GPU's name as the driver gives it; makes no context.
std::string gpu_name(int ordinal);

// The selected GPU has room for so many bytes more. `what`: what they are for.
void check_room(size_t bytes, const std::string& what);

} // namespace hitproof::engine
