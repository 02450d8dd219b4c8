// What the tests of the simulated device share: a current context and small owners.
#pragma once

#include "engine/sim/cuda_subset.h"
#include "engine/sim/latch.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

#define CU_OK(call) ASSERT_EQ((call), CUDA_SUCCESS)

namespace hitproof::sim::tests {

class SimTest : public ::testing::Test {
 protected:
  // In the constructor, not in SetUp: members of derived fixtures own device memory.
  SimTest() {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    hitproof_sim_set_seed(0);
    hitproof_sim_set_break("");
  }
  ~SimTest() override {
    hitproof_sim_set_seed(0);
    hitproof_sim_set_break("");
    cuCtxSynchronize();
    cuDevicePrimaryCtxRelease(0);
  }
  CUcontext context_ = nullptr;
};

/// Device memory.
class Device {
 public:
  explicit Device(size_t bytes, int fill = 0) : bytes_(bytes) {
    EXPECT_EQ(cuMemAlloc(&ptr_, bytes), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8(ptr_, static_cast<unsigned char>(fill), bytes), CUDA_SUCCESS);
  }
  ~Device() { cuMemFree(ptr_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  CUdeviceptr at(size_t offset = 0) const { return ptr_ + offset; }
  std::vector<unsigned char> read() const {
    std::vector<unsigned char> bytes(bytes_);
    EXPECT_EQ(cuMemcpyDtoH(bytes.data(), ptr_, bytes_), CUDA_SUCCESS);
    return bytes;
  }

 private:
  size_t bytes_;
  CUdeviceptr ptr_ = 0;
};

/// Pinned host memory.
class Pinned {
 public:
  explicit Pinned(size_t bytes, int fill = 0) {
    EXPECT_EQ(cuMemHostAlloc(&ptr_, bytes, 0), CUDA_SUCCESS);
    std::memset(ptr_, fill, bytes);
  }
  ~Pinned() { cuMemFreeHost(ptr_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  unsigned char* at(size_t offset = 0) const { return static_cast<unsigned char*>(ptr_) + offset; }

 private:
  void* ptr_ = nullptr;
};

class OwnStream {
 public:
  explicit OwnStream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    EXPECT_EQ(cuStreamCreate(&stream_, flags), CUDA_SUCCESS);
  }
  ~OwnStream() {
    hitproof_sim_latch_release(stream_);
    cuStreamSynchronize(stream_);
    cuStreamDestroy(stream_);
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  operator CUstream() const { return stream_; } // NOLINT: used like the handle

 private:
  CUstream stream_ = nullptr;
};

class OwnEvent {
 public:
  explicit OwnEvent(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    EXPECT_EQ(cuEventCreate(&event_, flags), CUDA_SUCCESS);
  }
  ~OwnEvent() { cuEventDestroy(event_); }
  OwnEvent(const OwnEvent&) = delete;
  OwnEvent& operator=(const OwnEvent&) = delete;
  operator CUevent() const { return event_; } // NOLINT: used like the handle

 private:
  CUevent event_ = nullptr;
};

inline std::vector<unsigned char> counted(size_t bytes) {
  std::vector<unsigned char> v(bytes);
  for (size_t i = 0; i < bytes; ++i)
    v[i] = static_cast<unsigned char>(i * 7 + i / 251);
  return v;
}

} // namespace hitproof::sim::tests
