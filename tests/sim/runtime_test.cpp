// The runtime library: its own rules, and that it reaches the driver by the real runtime's way.
#include "engine/sim/cudart_subset.h"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#define RT_OK(call) ASSERT_EQ((call), cudaSuccess)

namespace hitproof::sim::tests {
namespace {

TEST(Runtime, NamesItsDeviceAndVersions) {
  int count = 0, version = 0;
  RT_OK(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 1);
  RT_OK(cudaDriverGetVersion(&version));
  EXPECT_EQ(version, 13000);
  RT_OK(cudaRuntimeGetVersion(&version));
  EXPECT_EQ(version, 13000);
  cudaDeviceProp properties;
  RT_OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT_NE(std::string(properties.name).find("(sim)"), std::string::npos);
  EXPECT_EQ(properties.unifiedAddressing, 1);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  cudaGetLastError();
}

TEST(Runtime, RemembersTheLastError) {
  cudaGetLastError();
  void* ptr = nullptr;
  EXPECT_EQ(cudaMalloc(&ptr, ~size_t{0}), cudaErrorMemoryAllocation);
  RT_OK(cudaMalloc(&ptr, 64)); // a success does not clear it
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  RT_OK(cudaFree(ptr));
  EXPECT_STREQ(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(4321)), "unrecognized error code");
}

TEST(Runtime, NothingIsAllocatedAndFreedAsNothing) {
  void* ptr = &ptr;
  RT_OK(cudaMalloc(&ptr, 0));
  EXPECT_EQ(ptr, nullptr);
  RT_OK(cudaFree(nullptr));
  RT_OK(cudaFreeHost(nullptr));
  int local = 0;
  EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Runtime, WorksOnEveryThreadByItself) {
  std::thread([] {
    void* ptr = nullptr;
    EXPECT_EQ(cudaMalloc(&ptr, 64), cudaSuccess);
    EXPECT_EQ(cudaMemset(ptr, 1, 64), cudaSuccess);
    EXPECT_EQ(cudaFree(ptr), cudaSuccess);
  }).join();
}

TEST(Runtime, CopiesOfEveryKind) {
  void *device = nullptr, *pinned = nullptr;
  cudaStream_t stream = nullptr;
  RT_OK(cudaMalloc(&device, 1024));
  RT_OK(cudaHostAlloc(&pinned, 1024, cudaHostAllocMapped));
  RT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::memset(pinned, 3, 1024);
  std::vector<char> back(1024);
  RT_OK(cudaMemcpyAsync(device, pinned, 512, cudaMemcpyHostToDevice, stream));
  RT_OK(cudaMemcpyAsync(static_cast<char*>(device) + 512, device, 512, cudaMemcpyDeviceToDevice,
                        stream));
  RT_OK(cudaStreamSynchronize(stream));
  RT_OK(cudaMemcpy(back.data(), device, 1024, cudaMemcpyDefault));
  EXPECT_EQ(back[1023], 3);
  RT_OK(cudaMemcpy2D(device, 32, pinned, 16, 16, 4, cudaMemcpyHostToDevice));
  EXPECT_EQ(cudaMemcpy2D(device, 8, pinned, 16, 16, 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy(device, pinned, 4, static_cast<cudaMemcpyKind>(9)),
            cudaErrorInvalidMemcpyDirection);
  RT_OK(cudaMemcpyPeer(device, 0, static_cast<char*>(device) + 512, 0, 64));
  // Pinned memory has a device address, so the wrong kind is not noticed, as on a real device.
  RT_OK(cudaMemcpy(pinned, device, 64, cudaMemcpyDeviceToDevice));
  void* mapped = nullptr;
  RT_OK(cudaHostGetDevicePointer(&mapped, pinned, 0));
  EXPECT_EQ(mapped, pinned);
  RT_OK(cudaStreamDestroy(stream));
  RT_OK(cudaFreeHost(pinned));
  RT_OK(cudaFree(device));
  cudaGetLastError();
}

TEST(Runtime, BatchCopyInTheFormOf13) {
  void *device = nullptr, *pinned = nullptr;
  cudaStream_t stream = nullptr;
  RT_OK(cudaMalloc(&device, 1024));
  RT_OK(cudaMallocHost(&pinned, 1024));
  RT_OK(cudaStreamCreate(&stream));
  std::memset(pinned, 4, 1024);
  void* dsts[] = {device, static_cast<char*>(device) + 512};
  const void* srcs[] = {pinned, pinned};
  size_t sizes[] = {512, 512}, index = 0;
  cudaMemcpyAttributes attributes{cudaMemcpySrcAccessOrderStream, {}, {}, 0};
  RT_OK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, &index, 1, stream));
  EXPECT_EQ(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, &index, 1, nullptr),
            cudaErrorInvalidValue);
  RT_OK(cudaStreamSynchronize(stream)); // the next one writes the same memory
  RT_OK(cudaMemcpyBatchAsync_ptsz(dsts, srcs, sizes, 2, &attributes, &index, 1, nullptr));
  RT_OK(cudaDeviceSynchronize());
  std::vector<char> back(1024);
  RT_OK(cudaMemcpy(back.data(), device, 1024, cudaMemcpyDeviceToHost));
  EXPECT_EQ(back[1023], 4);
  RT_OK(cudaStreamDestroy(stream));
  RT_OK(cudaFreeHost(pinned));
  RT_OK(cudaFree(device));
  cudaGetLastError();
}

TEST(Runtime, PointerAttributesOfAllSorts) {
  void *device = nullptr, *pinned = nullptr;
  RT_OK(cudaMalloc(&device, 64));
  RT_OK(cudaMallocHost(&pinned, 64));
  cudaPointerAttributes attributes;
  RT_OK(cudaPointerGetAttributes(&attributes, static_cast<char*>(device) + 3));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  RT_OK(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.hostPointer, pinned);
  RT_OK(cudaPointerGetAttributes(&attributes, &attributes));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(attributes.devicePointer, nullptr);
  RT_OK(cudaFreeHost(pinned));
  RT_OK(cudaFree(device));
}

TEST(Runtime, GraphsAndCallbacks) {
  void *device = nullptr, *pinned = nullptr;
  cudaStream_t stream = nullptr;
  RT_OK(cudaMalloc(&device, 64));
  RT_OK(cudaMallocHost(&pinned, 128));
  RT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::memset(pinned, 7, 64);
  std::memset(static_cast<char*>(pinned) + 64, 8, 64);
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t exec = nullptr;
  RT_OK(cudaGraphCreate(&graph, 0));
  RT_OK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, device, pinned, 64,
                                 cudaMemcpyHostToDevice));
  RT_OK(cudaGraphInstantiate(&exec, graph, 0));
  RT_OK(cudaGraphExecMemcpyNodeSetParams1D(exec, node, device, static_cast<char*>(pinned) + 64, 64,
                                           cudaMemcpyHostToDevice));
  static cudaError_t told;
  told = cudaErrorUnknown;
  RT_OK(cudaGraphLaunch(exec, stream));
  RT_OK(cudaStreamAddCallback(
      stream, [](cudaStream_t, cudaError_t status, void*) { told = status; }, nullptr, 0));
  RT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(told, cudaSuccess);
  char back[64];
  RT_OK(cudaMemcpy(back, device, 64, cudaMemcpyDeviceToHost));
  EXPECT_EQ(back[63], 8);
  RT_OK(cudaGraphExecDestroy(exec));
  RT_OK(cudaGraphDestroy(graph));
  RT_OK(cudaStreamDestroy(stream));
  RT_OK(cudaFreeHost(pinned));
  RT_OK(cudaFree(device));
}

TEST(Runtime, DriverEntryPointsByVersion) {
  void *older = nullptr, *newer = nullptr, *latest = nullptr, *none = nullptr;
  cudaDriverEntryPointQueryResult status;
  RT_OK(cudaGetDriverEntryPointByVersion("cuMemcpyBatchAsync", &older, 12080, cudaEnableDefault,
                                         &status));
  RT_OK(cudaGetDriverEntryPointByVersion("cuMemcpyBatchAsync", &newer, 13000, cudaEnableDefault,
                                         &status));
  RT_OK(cudaGetDriverEntryPoint("cuMemcpyBatchAsync", &latest, cudaEnableDefault, &status));
  EXPECT_NE(older, newer);
  EXPECT_EQ(newer, latest);
  RT_OK(cudaGetDriverEntryPoint_ptsz("cuMemcpyBatchAsync", &latest, cudaEnableDefault, &status));
  EXPECT_NE(newer, latest);
  RT_OK(cudaGetDriverEntryPoint("cuNothing", &none, cudaEnableDefault, &status));
  EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(cudaGetDriverEntryPoint("cuNothing", &none, cudaEnableDefault, nullptr),
            cudaErrorSymbolNotFound);
  cudaGetLastError();
}

TEST(Runtime, ExportsItsTwinsUnderItsVersionNode) {
  void* library = dlopen("libcudart.so.13", RTLD_NOLOAD | RTLD_LAZY);
  ASSERT_NE(library, nullptr);
  for (const char* name : {
#define HITPROOF_SIM_TWIN(symbol, suffix) #symbol #suffix, #symbol,
#include "engine/sim/runtime_twins.def"
#undef HITPROOF_SIM_TWIN
       }) {
    EXPECT_NE(dlvsym(library, name, "libcudart.so.13"), nullptr) << name;
  }
}

} // namespace
} // namespace hitproof::sim::tests
