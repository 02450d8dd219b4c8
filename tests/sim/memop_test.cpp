// Stream memory operations as semaphores.
#include "tests/sim/sim_test.h"

#include <atomic>
#include <thread>

namespace hitproof::sim::tests {
namespace {

using MemOp = SimTest;

TEST_F(MemOp, AWriteLetsAWaitGo) {
  OwnStream producer, consumer;
  Device flag(16), data(64);
  Pinned out(64);
  CU_OK(cuStreamWaitValue64(consumer, flag.at(), 5, CU_STREAM_WAIT_VALUE_GEQ));
  CU_OK(cuMemcpyDtoHAsync(out.at(), data.at(), 64, consumer));
  CU_OK(cuStreamWriteValue64(producer, flag.at(), 4, 0));
  EXPECT_EQ(hitproof_sim_latch_wait(consumer, 1, 30), -1);
  CU_OK(cuMemsetD8Async(data.at(), 6, 64, producer));
  CU_OK(cuStreamWriteValue64(producer, flag.at(), 5, 0));
  CU_OK(cuStreamSynchronize(consumer));
  EXPECT_EQ(out.at()[0], 6);
}

TEST_F(MemOp, SeesAWriteByACpuThread) {
  OwnStream stream;
  Pinned flag(8);
  const auto at = reinterpret_cast<CUdeviceptr>(flag.at());
  CU_OK(cuStreamWaitValue32(stream, at, 1, CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_EQ(hitproof_sim_latch_wait(stream, 0, 30), -1);
  __atomic_store_n(reinterpret_cast<uint32_t*>(flag.at()), 1u, __ATOMIC_RELEASE);
  CU_OK(cuStreamSynchronize(stream));
}

TEST_F(MemOp, EveryComparison) {
  OwnStream stream;
  Device flag(16);
  CU_OK(cuStreamWriteValue32(stream, flag.at(), 0x0f, 0));
  CU_OK(cuStreamWaitValue32(stream, flag.at(), 0x08, CU_STREAM_WAIT_VALUE_AND));
  CU_OK(cuStreamWaitValue32(stream, flag.at(), 0x10, CU_STREAM_WAIT_VALUE_NOR));
  CU_OK(cuStreamWaitValue32(stream, flag.at(), 0x0f, CU_STREAM_WAIT_VALUE_EQ));
  CU_OK(cuStreamWaitValue32(stream, flag.at(), 0xfffffff0u, CU_STREAM_WAIT_VALUE_GEQ)); // cyclic
  EXPECT_EQ(hitproof_sim_latch_wait(stream, 0, 5000), 0);
}

TEST_F(MemOp, ABatchIsOneOperation) {
  OwnStream stream;
  Device flags(32);
  CUstreamBatchMemOpParams ops[3] = {};
  ops[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_64, flags.at(), 7, 0, 0};
  ops[1].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, flags.at(8), 9, 0, 0};
  ops[2].waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_64, flags.at(), 7, CU_STREAM_WAIT_VALUE_EQ, 0};
  hitproof_sim_latch_hold(stream);
  CU_OK(cuStreamBatchMemOp(stream, 3, ops, 0));
  EXPECT_EQ(hitproof_sim_latch_pending(stream), 1);
  hitproof_sim_latch_release(stream);
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(flags.read()[0], 7);
  EXPECT_EQ(flags.read()[8], 9);
}

TEST_F(MemOp, ChecksItsArguments) {
  OwnStream stream;
  Device flag(16);
  uint32_t local = 0;
  EXPECT_EQ(cuStreamWriteValue64(stream, flag.at(4), 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue32(stream, reinterpret_cast<CUdeviceptr>(&local), 1, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue32(stream, flag.at(), 1, 64), CUDA_ERROR_INVALID_VALUE);
}

} // namespace
} // namespace hitproof::sim::tests
