#include "engine/runtime/kernel_library.h"

#include "engine/installed_library.h"
#include "engine/runtime/device.h"
#include "engine/sim/cudart_subset.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace hitproof::engine {
namespace {

constexpr const char* instead = ", or use --device sim, which needs no GPU";

// 13020 -> "13.2"
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  if (const cudaError_t result = cudaDeviceGetAttribute(&value, which, ordinal);
      result != cudaSuccess)
    throw EnvironmentError("GPU " + std::to_string(ordinal) + " does not answer: " +
                           cudaGetErrorString(result) + "; nvidia-smi shows its state");
  return value;
}

void check_versions() {
  int runtime = 0;
  int driver = 0;
  cudaRuntimeGetVersion(&runtime);
  const cudaError_t asked = cudaDriverGetVersion(&driver);
  if (asked != cudaSuccess || driver == 0)
    throw EnvironmentError("no NVIDIA driver is installed here (the CUDA runtime is " +
                           version_text(runtime) + "); run on a machine with an NVIDIA GPU" +
                           instead);
  // Within one major version an older driver serves a newer runtime.
  if (driver / 1000 < runtime / 1000)
    throw EnvironmentError("the driver is older than the CUDA runtime: it serves CUDA " +
                           version_text(driver) + ", the runtime is " + version_text(runtime) +
                           "; install a driver for CUDA " + std::to_string(runtime / 1000) + ".0" +
                           " or later" + instead);
}

} // namespace

const kernels::ModelKernels& load_cuda_kernels() {
  const std::string path = installed_library("libhitproof_model_cuda.so");
  if (!std::filesystem::exists(path))
    throw EnvironmentError(path +
                           " does not exist: this build has no CUDA kernels; with nvcc of "
                           "CUDA 13 installed, configure and build again (make build)" +
                           instead);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw EnvironmentError("the CUDA kernels cannot be loaded: " + std::string(dlerror()) +
                           "; a library that they need is missing, or was built for another CUDA");
  const auto get = reinterpret_cast<kernels::CudaModelKernels>(
      dlsym(library, kernels::cuda_model_kernels_symbol));
  const kernels::ModelKernels* table = get == nullptr ? nullptr : get();
  if (table == nullptr || table->table_bytes != sizeof(kernels::ModelKernels))
    throw EnvironmentError(path + " is of another build than this program; build both again");
  return *table;
}

void check_gpu(int ordinal, const std::string& option) {
  check_versions();
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0)
    throw EnvironmentError(
        std::string("no GPU is to be seen here (") +
        (result == cudaSuccess ? "cudaGetDeviceCount says 0" : cudaGetErrorString(result)) +
        "); look at nvidia-smi and CUDA_VISIBLE_DEVICES" + instead);
  if (ordinal < 0 || ordinal >= count)
    throw EnvironmentError(option + " " + std::to_string(ordinal) + ": this machine shows " +
                           std::to_string(count) + (count == 1 ? " GPU" : " GPUs") +
                           ", numbered from 0");
  const int capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor, ordinal) +
                         attribute(cudaDevAttrComputeCapabilityMinor, ordinal);
  if (capability < least_capability)
    throw EnvironmentError("GPU " + std::to_string(ordinal) + " (" + gpu_name(ordinal) +
                           ") is of compute capability " + std::to_string(capability / 10) + "." +
                           std::to_string(capability % 10) + ", the kernels need " +
                           std::to_string(least_capability / 10) + "." +
                           std::to_string(least_capability % 10) + " or later; name another with " +
                           option + instead);
  if (attribute(cudaDevAttrIpcEventSupport, ordinal) == 0)
    throw EnvironmentError("GPU " + std::to_string(ordinal) + " (" + gpu_name(ordinal) +
                           ") shares no events between processes, and ranks and cache server are "
                           "processes; name another with " +
                           option + instead);
}

bool reaches_peer(int from, int to) {
  int can = 0;
  return from == to || (cudaDeviceCanAccessPeer(&can, from, to) == cudaSuccess && can != 0);
}

std::string gpu_name(int ordinal) { return device::name(ordinal); }

void check_room(size_t bytes, const std::string& what) {
  const device::Room room = device::room();
  if (bytes <= room.free) return;
  throw EnvironmentError("too little GPU memory: " + what + " need " + std::to_string(bytes >> 20) +
                         " MiB, " + std::to_string(room.free >> 20) + " of " +
                         std::to_string(room.total >> 20) +
                         " MiB are free; give fewer blocks (--blocks), more GPUs (--gpus), or end "
                         "what else uses the GPU");
}

} // namespace hitproof::engine
