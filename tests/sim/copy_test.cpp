// Copies and fills, one and two dimensions, and what is refused.
#include "tests/sim/sim_test.h"

namespace hitproof::sim::tests {
namespace {

using Copy = SimTest;

TEST_F(Copy, GoesThereAndBack) {
  const auto pattern = counted(100'000);
  Device first(pattern.size()), second(pattern.size());
  CU_OK(cuMemcpyHtoD(first.at(), pattern.data(), pattern.size()));
  CU_OK(cuMemcpyDtoD(second.at(), first.at(), pattern.size()));
  EXPECT_EQ(second.read(), pattern);
}

TEST_F(Copy, AsynchronousOnesKeepStreamOrder) {
  OwnStream stream;
  Device device(4096);
  Pinned in(4096, 1), out(4096);
  for (int round = 0; round < 100; ++round) {
    CU_OK(cuMemsetD8Async(device.at(), 9, 4096, stream));
    CU_OK(cuMemcpyHtoDAsync(device.at(), in.at(), 4096, stream));
    CU_OK(cuMemcpyDtoHAsync(out.at(), device.at(), 4096, stream));
  }
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(std::memcmp(in.at(), out.at(), 4096), 0);
}

TEST_F(Copy, AnAsynchronousCopyReadsItsPinnedSourceWhenItsTurnComes) {
  OwnStream stream;
  Device device(64);
  Pinned in(64, 1);
  hitproof_sim_latch_hold(stream);
  CU_OK(cuMemcpyHtoDAsync(device.at(), in.at(), 64, stream));
  std::memset(in.at(), 2, 64); // before the copy was let go
  hitproof_sim_latch_release(stream);
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(device.read()[0], 2);
}

TEST_F(Copy, ASmallOrdinarySourceIsReadDuringTheCall) {
  OwnStream stream;
  Device device(64);
  std::vector<unsigned char> in(64, 1);
  hitproof_sim_latch_hold(stream);
  CU_OK(cuMemcpyHtoDAsync(device.at(), in.data(), 64, stream));
  std::fill(in.begin(), in.end(), 2);
  hitproof_sim_latch_release(stream);
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(device.read()[0], 1);
}

TEST_F(Copy, AnOrdinaryDestinationIsThereOnReturn) {
  OwnStream stream;
  Device device(300'000, 7);
  std::vector<unsigned char> out(300'000);
  CU_OK(cuMemcpyDtoHAsync(out.data(), device.at(), out.size(), stream));
  EXPECT_EQ(out.back(), 7);
}

TEST_F(Copy, UnifiedCopyTakesAnyAddress) {
  Device device(256, 3);
  Pinned pinned(256);
  std::vector<unsigned char> plain(256);
  CU_OK(cuMemcpy(reinterpret_cast<CUdeviceptr>(pinned.at()), device.at(), 256));
  CU_OK(cuMemcpy(reinterpret_cast<CUdeviceptr>(plain.data()),
                 reinterpret_cast<CUdeviceptr>(pinned.at()), 256));
  EXPECT_EQ(plain[255], 3);
}

TEST_F(Copy, RefusesWhatIsNotInside) {
  Device device(4096);
  std::vector<unsigned char> host(8192);
  EXPECT_EQ(cuMemcpyHtoD(device.at(1), host.data(), 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(host.data(), device.at(), 4097), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(host.data()), host.data(), 16),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(0, host.data(), 16), CUDA_ERROR_INVALID_VALUE);
  CU_OK(cuMemcpyHtoD(device.at(), host.data(), 0));
}

TEST_F(Copy, TwoDimensionsMoveRowsOnly) {
  const auto pattern = counted(64 * 10);
  Device device(128 * 10, 0xee);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = pattern.data();
  copy.srcPitch = 64;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device.at();
  copy.dstPitch = 128;
  copy.dstXInBytes = 8;
  copy.dstY = 1;
  copy.WidthInBytes = 64;
  copy.Height = 9;
  CU_OK(cuMemcpy2D(&copy));
  const auto bytes = device.read();
  EXPECT_EQ(bytes[7], 0xee);
  EXPECT_EQ(bytes[128 + 7], 0xee);
  EXPECT_EQ(std::memcmp(&bytes[128 + 8], pattern.data(), 64), 0);
  EXPECT_EQ(bytes[128 + 72], 0xee);
  EXPECT_EQ(std::memcmp(&bytes[9 * 128 + 8], &pattern[8 * 64], 64), 0);
  copy.dstY = 2; // one row too far
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.dstY = 0;
  copy.dstPitch = 32;
  EXPECT_EQ(cuMemcpy2DUnaligned(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Copy, FillsWithEveryElementSize) {
  Device device(64);
  CU_OK(cuMemsetD32(device.at(), 0x04030201, 4));
  CU_OK(cuMemsetD16(device.at(16), 0x0605, 2));
  CU_OK(cuMemsetD2D8(device.at(32), 8, 9, 2, 3));
  const auto bytes = device.read();
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(bytes[15], 4);
  EXPECT_EQ(bytes[16], 5);
  EXPECT_EQ(bytes[19], 6);
  EXPECT_EQ(bytes[20], 0);
  EXPECT_EQ(bytes[32 + 9], 9);
  EXPECT_EQ(bytes[32 + 10], 0);
  EXPECT_EQ(bytes[32 + 17], 9);
  EXPECT_EQ(cuMemsetD32(device.at(2), 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(device.at(), 0, 65), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Copy, PeerCopyOnTheOneDevice) {
  Device from(32, 4), to(32);
  OwnStream stream;
  CU_OK(cuMemcpyPeer(to.at(), context_, from.at(), context_, 16));
  CU_OK(cuMemcpyPeerAsync(to.at(16), context_, from.at(), context_, 16, stream));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(to.read(), std::vector<unsigned char>(32, 4));
}

} // namespace
} // namespace hitproof::sim::tests
