// The breaks that detectors are tried against, and that they are off otherwise.
#include "tests/sim/sim_test.h"

namespace hitproof::sim::tests {
namespace {

using BreakTest = SimTest;

TEST_F(BreakTest, AShortCopyLeavesItsEnd) {
  OwnStream stream;
  Device device(4096, 0xee);
  Pinned in(4096, 1);
  ASSERT_EQ(hitproof_sim_set_break("short_copy"), 0);
  CU_OK(cuMemcpyHtoDAsync(device.at(), in.at(), 4096, stream));
  CU_OK(cuStreamSynchronize(stream));
  hitproof_sim_set_break("");
  const auto bytes = device.read();
  EXPECT_EQ(bytes[4096 - 65], 1);
  EXPECT_EQ(bytes[4096 - 64], 0xee);
  EXPECT_EQ(bytes[4095], 0xee);
}

TEST_F(BreakTest, EveryNthOnly) {
  OwnStream stream;
  Device device(300, 0xee);
  Pinned in(300, 1);
  ASSERT_EQ(hitproof_sim_set_break("short_copy:3"), 0);
  for (size_t i = 0; i < 3; ++i)
    CU_OK(cuMemcpyHtoDAsync(device.at(i * 100), in.at(), 100, stream));
  CU_OK(cuStreamSynchronize(stream));
  hitproof_sim_set_break("");
  EXPECT_EQ(device.read()[99], 1);
  EXPECT_EQ(device.read()[199], 1);
  EXPECT_EQ(device.read()[299], 0xee);
}

TEST_F(BreakTest, ABatchLosesOneEntry) {
  OwnStream stream;
  Device device(64, 0xee);
  Pinned in(64, 1);
  CUdeviceptr dsts[4], srcs[4];
  size_t sizes[4];
  for (size_t i = 0; i < 4; ++i) {
    dsts[i] = device.at(i * 16);
    srcs[i] = reinterpret_cast<CUdeviceptr>(in.at(i * 16));
    sizes[i] = 16;
  }
  CUmemcpyAttributes attributes{CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, {}, {}, 0};
  size_t index = 0;
  ASSERT_EQ(hitproof_sim_set_break("lost_entry"), 0);
  CU_OK(cuMemcpyBatchAsync(dsts, srcs, sizes, 4, &attributes, &index, 1, stream));
  CU_OK(cuStreamSynchronize(stream));
  hitproof_sim_set_break("");
  int lost = 0;
  const auto bytes = device.read();
  for (size_t i = 0; i < 4; ++i)
    lost += bytes[i * 16] == 0xee;
  EXPECT_EQ(lost, 1);
}

TEST_F(BreakTest, AWaitIsIgnored) {
  OwnStream producer, consumer;
  OwnEvent event;
  Device device(64);
  Pinned out(64, 0xee);
  ASSERT_EQ(hitproof_sim_set_break("ignore_event"), 0);
  hitproof_sim_latch_hold(producer);
  CU_OK(cuMemsetD8Async(device.at(), 1, 64, producer));
  CU_OK(cuEventRecord(event, producer));
  CU_OK(cuStreamWaitEvent(consumer, event, 0));
  CU_OK(cuMemcpyDtoHAsync(out.at(), device.at(), 64, consumer));
  CU_OK(cuStreamSynchronize(consumer)); // does not hang: the wait was not one
  EXPECT_EQ(out.at()[0], 0);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  hitproof_sim_latch_release(producer);
}

TEST_F(BreakTest, UnknownWordsAreRefused) {
  EXPECT_EQ(hitproof_sim_set_break("shorter"), -1);
  EXPECT_EQ(hitproof_sim_set_break("short_copy:0"), -1);
  EXPECT_EQ(hitproof_sim_set_break("short_copy:x"), -1);
}

} // namespace
} // namespace hitproof::sim::tests
