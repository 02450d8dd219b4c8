// Allocation, limits, pinning, questions about addresses.
#include "tests/sim/sim_test.h"

#include <algorithm>
#include <sys/mman.h>

namespace hitproof::sim::tests {
namespace {

using Memory = SimTest;

TEST_F(Memory, CountsWhatIsAllocated) {
  size_t before = 0, after = 0, total = 0;
  CU_OK(cuMemGetInfo(&before, &total));
  CUdeviceptr ptr = 0;
  CU_OK(cuMemAlloc(&ptr, 3 << 20));
  CU_OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before - after, size_t{3} << 20);
  CU_OK(cuMemFree(ptr));
  CU_OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

TEST_F(Memory, RefusesMoreThanTheDeviceHas) {
  size_t free = 0, total = 0;
  CU_OK(cuMemGetInfo(&free, &total));
  CUdeviceptr ptr = 0;
  EXPECT_EQ(cuMemAlloc(&ptr, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc(&ptr, ~size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc(&ptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, ManySmallAllocationsLieApartAndAligned) {
  std::vector<CUdeviceptr> pieces(3000);
  for (size_t i = 0; i < pieces.size(); ++i)
    CU_OK(cuMemAlloc(&pieces[i], 100 + i % 2000));
  auto sorted = pieces;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 1; i < sorted.size(); ++i)
    ASSERT_GE(sorted[i] - sorted[i - 1], 512u);
  for (CUdeviceptr ptr : pieces) {
    ASSERT_EQ(ptr % 512, 0u);
    CU_OK(cuMemFree(ptr));
  }
}

TEST_F(Memory, FreesByBaseAddressOnly) {
  CUdeviceptr ptr = 0;
  CU_OK(cuMemAlloc(&ptr, 4096));
  EXPECT_EQ(cuMemFree(ptr + 512), CUDA_ERROR_INVALID_VALUE);
  CU_OK(cuMemFree(ptr));
  EXPECT_EQ(cuMemFree(ptr), CUDA_ERROR_INVALID_VALUE);
  CU_OK(cuMemFree(0));
}

TEST_F(Memory, AnswersForAnyAddressInside) {
  Device memory(10000);
  CUdeviceptr base = 0;
  size_t size = 0;
  CU_OK(cuMemGetAddressRange(&base, &size, memory.at(9999)));
  EXPECT_EQ(base, memory.at());
  EXPECT_EQ(size, 10000u);
  EXPECT_EQ(cuMemGetAddressRange(&base, &size, memory.at(10000)), CUDA_ERROR_NOT_FOUND);
}

TEST_F(Memory, PointerAttributesTellTheKinds) {
  Device device(4096);
  Pinned pinned(4096);
  unsigned type = 0;
  CU_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device.at(8)));
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  const auto host = reinterpret_cast<CUdeviceptr>(pinned.at(8));
  CU_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host));
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  int local = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  reinterpret_cast<CUdeviceptr>(&local)),
            CUDA_ERROR_INVALID_VALUE);
  unsigned long long first = 0, second = 0;
  CU_OK(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, device.at()));
  CU_OK(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, host));
  EXPECT_NE(first, second);
}

TEST_F(Memory, PointerAttributesOfUnknownMemoryAreEmptyNotAnError) {
  int local = 0;
  unsigned type = 77;
  CUdeviceptr range = 77;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
  void* answers[] = {&type, &range};
  CU_OK(cuPointerGetAttributes(2, asked, answers, reinterpret_cast<CUdeviceptr>(&local)));
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(range, 0u);
}

TEST_F(Memory, RegistersHostMemoryOnce) {
  std::vector<char> host(3 * 4096);
  CU_OK(cuMemHostRegister(host.data(), host.size(), 0));
  EXPECT_EQ(cuMemHostRegister(host.data() + 4096, 4096, 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CUdeviceptr mapped = 0;
  CU_OK(cuMemHostGetDevicePointer(&mapped, host.data() + 5, 0));
  EXPECT_EQ(mapped, reinterpret_cast<CUdeviceptr>(host.data() + 5));
  EXPECT_EQ(cuMemHostUnregister(host.data() + 1), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  CU_OK(cuMemHostUnregister(host.data()));
  EXPECT_EQ(cuMemHostUnregister(host.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(cuMemHostGetDevicePointer(&mapped, host.data(), 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, RefusesToRegisterWhatIsNotMapped) {
  void* hole = mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(hole, MAP_FAILED);
  munmap(hole, 1 << 16);
  EXPECT_EQ(cuMemHostRegister(hole, 1 << 16, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, FreeAsyncKeepsTheBytesUntilTheStreamIsThere) {
  OwnStream stream;
  Pinned out(4096);
  CUdeviceptr ptr = 0;
  CU_OK(cuMemAllocAsync(&ptr, 4096, stream));
  hitproof_sim_latch_hold(stream);
  CU_OK(cuMemsetD8Async(ptr, 0x5a, 4096, stream));
  CU_OK(cuMemcpyDtoHAsync(out.at(), ptr, 4096, stream));
  CU_OK(cuMemFreeAsync(ptr, stream));
  EXPECT_EQ(cuMemFreeAsync(ptr, stream), CUDA_ERROR_INVALID_VALUE);
  hitproof_sim_latch_release(stream);
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(out.at()[4095], 0x5a);
}

TEST_F(Memory, PitchIsAMultipleOfTheRowAlignment) {
  CUdeviceptr ptr = 0;
  size_t pitch = 0;
  CU_OK(cuMemAllocPitch(&ptr, &pitch, 700, 3, 4));
  EXPECT_EQ(pitch, 1024u);
  CU_OK(cuMemFree(ptr));
  EXPECT_EQ(cuMemAllocPitch(&ptr, &pitch, 700, 3, 5), CUDA_ERROR_INVALID_VALUE);
}

} // namespace
} // namespace hitproof::sim::tests
