// A program that asks for the simulated device and shows what it got. Linked to no CUDA library.
#include "engine/sim/cudart_subset.h"
#include "engine/sim/reexec.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

int main(int argc, char** argv) {
  const char* probe = std::getenv("TEST_PROBE");
  const auto device = hitproof::sim::ensure_sim_device(argc, argv, probe ? probe : "");
  if (!device.ok) {
    std::printf("refused: %s\n", device.message.c_str());
    return 1;
  }
  auto properties = reinterpret_cast<decltype(&cudaGetDeviceProperties)>(
      dlsym(RTLD_DEFAULT, "cudaGetDeviceProperties"));
  cudaDeviceProp prop{};
  if (!properties || properties(&prop, 0) != cudaSuccess) return 2;
  std::printf("device: %s\nruntime: %s\ndriver: %s\n", prop.name, device.runtime.c_str(),
              device.driver.c_str());
  for (int i = 1; i < argc; ++i)
    std::printf("argument: %s\n", argv[i]);
  std::printf("preload: %s\n", std::getenv("LD_PRELOAD"));
  return 0;
}
