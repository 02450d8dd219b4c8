// Not a CUDA runtime: what the engine asks of one before it starts, answered as FAKE_GPU says.
// Preloaded, it stands before the real one. FAKE_GPU is "runtime driver capability", as "13000
// 13000 90", and may go on with the number of GPUs (else 1), or minus the error of the question for
// it; the names and numbers are CUDA's.
#include "engine/sim/cudart_subset.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Gpu {
  int runtime = 0, driver = 0, capability = 0, count = 1;
};

Gpu gpu() {
  Gpu g;
  const char* text = std::getenv("FAKE_GPU");
  if (text == nullptr ||
      std::sscanf(text, "%d %d %d %d", &g.runtime, &g.driver, &g.capability, &g.count) < 3)
    std::abort();
  return g;
}

} // namespace

extern "C" {

cudaError_t cudaRuntimeGetVersion(int* version) { return *version = gpu().runtime, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = gpu().driver, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) {
  const int said = gpu().count;
  *count = said < 0 ? 0 : said;
  return said < 0 ? static_cast<cudaError_t>(-said) : cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  const int capability = gpu().capability;
  *value = attribute == cudaDevAttrComputeCapabilityMajor   ? capability / 10
           : attribute == cudaDevAttrComputeCapabilityMinor ? capability % 10
                                                            : 1;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "Fake of a GPU");
  return cudaSuccess;
}
}
