// Events within one process.
#include "tests/sim/sim_test.h"

#include <thread>

namespace hitproof::sim::tests {
namespace {

using EventTest = SimTest;

TEST_F(EventTest, NeverRecordedCountsAsDone) {
  OwnEvent event;
  OwnStream stream;
  CU_OK(cuEventQuery(event));
  CU_OK(cuEventSynchronize(event));
  CU_OK(cuStreamWaitEvent(stream, event, 0));
  CU_OK(cuStreamSynchronize(stream));
}

TEST_F(EventTest, IsReadyWhenTheStreamHasReachedIt) {
  OwnEvent event;
  OwnStream stream;
  hitproof_sim_latch_hold(stream);
  CU_OK(cuEventRecord(event, stream));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  hitproof_sim_latch_release(stream);
  CU_OK(cuEventSynchronize(event));
  CU_OK(cuEventQuery(event));
}

TEST_F(EventTest, OrdersTwoStreams) {
  OwnEvent event;
  OwnStream producer, consumer;
  Device device(64);
  Pinned out(64);
  hitproof_sim_latch_hold(producer);
  CU_OK(cuMemsetD8Async(device.at(), 8, 64, producer));
  CU_OK(cuEventRecord(event, producer));
  CU_OK(cuStreamWaitEvent(consumer, event, 0));
  CU_OK(cuMemcpyDtoHAsync(out.at(), device.at(), 64, consumer));
  EXPECT_EQ(hitproof_sim_latch_wait(consumer, 1, 30), -1);
  hitproof_sim_latch_release(producer);
  CU_OK(cuStreamSynchronize(consumer));
  EXPECT_EQ(out.at()[63], 8);
}

TEST_F(EventTest, AWaitIsForTheRecordThatWasNewestWhenItWasEnqueued) {
  OwnEvent event;
  OwnStream first, second, waiter;
  hitproof_sim_latch_hold(second);
  CU_OK(cuEventRecord(event, first));
  CU_OK(cuStreamWaitEvent(waiter, event, 0));
  CU_OK(cuEventRecord(event, second)); // later: the wait above does not mean this one
  CU_OK(cuStreamSynchronize(waiter));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  hitproof_sim_latch_release(second);
  CU_OK(cuEventSynchronize(event));
}

TEST_F(EventTest, ALaterRecordDoesNotEndAnEarlierWait) {
  OwnEvent event;
  OwnStream slow, fast, waiter;
  hitproof_sim_latch_hold(slow);
  CU_OK(cuEventRecord(event, slow));
  CU_OK(cuStreamWaitEvent(waiter, event, 0));
  CU_OK(cuEventRecord(event, fast));
  CU_OK(cuEventSynchronize(event)); // the newest is done
  EXPECT_EQ(hitproof_sim_latch_wait(waiter, 0, 30), -1);
  hitproof_sim_latch_release(slow);
  CU_OK(cuStreamSynchronize(waiter));
}

TEST_F(EventTest, DestroyingAnEventLeavesItsWaitsAlone) {
  OwnStream producer, consumer;
  CUevent event = nullptr;
  CU_OK(cuEventCreate(&event, 0));
  hitproof_sim_latch_hold(producer);
  CU_OK(cuEventRecord(event, producer));
  CU_OK(cuStreamWaitEvent(consumer, event, 0));
  CU_OK(cuEventDestroy(event));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(hitproof_sim_latch_wait(consumer, 0, 30), -1);
  hitproof_sim_latch_release(producer);
  CU_OK(cuStreamSynchronize(consumer));
}

TEST_F(EventTest, MeasuresTime) {
  OwnEvent start(0), end(0), untimed;
  OwnStream stream;
  float ms = 0;
  EXPECT_EQ(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_INVALID_HANDLE);
  CU_OK(cuEventRecord(start, stream));
  CU_OK(cuLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }, nullptr));
  CU_OK(cuEventRecord(end, stream));
  CU_OK(cuEventSynchronize(end));
  CU_OK(cuEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 19.0f);
  EXPECT_EQ(cuEventElapsedTime(&ms, start, untimed), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(EventTest, FlagsAreChecked) {
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
  CUipcEventHandle handle;
  OwnEvent local, shared(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  EXPECT_EQ(cuIpcGetEventHandle(&handle, local), CUDA_ERROR_INVALID_VALUE);
  CU_OK(cuIpcGetEventHandle(&handle, shared));
  EXPECT_EQ(cuIpcOpenEventHandle(&event, handle), CUDA_ERROR_INVALID_CONTEXT); // own process
  std::memset(&handle, 0x11, sizeof handle);
  EXPECT_EQ(cuIpcOpenEventHandle(&event, handle), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(EventTest, ManyInterprocessEventsAreCheapAndReused) {
  for (int round = 0; round < 3; ++round) {
    std::vector<CUevent> events(5000);
    for (auto& event : events)
      CU_OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OwnStream stream;
    for (auto& event : events)
      CU_OK(cuEventRecord(event, stream));
    CU_OK(cuEventSynchronize(events.back()));
    for (auto& event : events)
      CU_OK(cuEventDestroy(event));
  }
}

} // namespace
} // namespace hitproof::sim::tests
