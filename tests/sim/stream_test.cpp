// Streams: handles, default streams, host functions, the latch.
#include "tests/sim/sim_test.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace hitproof::sim::tests {
namespace {

using StreamTest = SimTest;

struct Seen {
  std::atomic<int> count{0};
  std::thread::id thread;
  CUresult inner = CUDA_SUCCESS;
};

TEST_F(StreamTest, HostFunctionsRunOnOneWorkerInOrder) {
  OwnStream stream;
  std::vector<int> order;
  struct Item {
    std::vector<int>* order;
    int number;
  };
  std::vector<Item> items;
  for (int i = 0; i < 100; ++i)
    items.push_back({&order, i});
  for (auto& item : items)
    CU_OK(cuLaunchHostFunc(
        stream,
        [](void* at) {
          auto* it = static_cast<Item*>(at);
          it->order->push_back(it->number);
        },
        &item));
  CU_OK(cuStreamSynchronize(stream));
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST_F(StreamTest, AHostFunctionMayNotCallBack) {
  OwnStream stream;
  Seen seen;
  CU_OK(cuLaunchHostFunc(
      stream,
      [](void* at) {
        auto* s = static_cast<Seen*>(at);
        s->thread = std::this_thread::get_id();
        s->inner = cuCtxSynchronize();
      },
      &seen));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_NE(seen.thread, std::this_thread::get_id());
  EXPECT_EQ(seen.inner, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(StreamTest, ACallbackGetsItsStream) {
  OwnStream stream;
  static std::atomic<CUstream> got{nullptr};
  CU_OK(cuStreamAddCallback(
      stream, [](CUstream on, CUresult, void*) { got = on; }, nullptr, 0));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(got.load(), static_cast<CUstream>(stream));
  EXPECT_EQ(cuStreamAddCallback(stream, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StreamTest, DestroyedHandlesAreInvalid) {
  CUstream stream = nullptr;
  CU_OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -99));
  int priority = 0;
  unsigned flags = 0;
  CU_OK(cuStreamGetPriority(stream, &priority));
  CU_OK(cuStreamGetFlags(stream, &flags));
  EXPECT_EQ(priority, -5);
  EXPECT_EQ(flags, CU_STREAM_NON_BLOCKING);
  CU_OK(cuStreamDestroy(stream));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(CU_STREAM_LEGACY), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StreamTest, ADestroyedStreamStillFinishesItsWork) {
  Seen seen;
  CUstream stream = nullptr;
  CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 10; ++i)
    CU_OK(cuLaunchHostFunc(
        stream,
        [](void* at) {
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          static_cast<Seen*>(at)->count++;
        },
        &seen));
  CU_OK(cuStreamDestroy(stream));
  CU_OK(cuCtxSynchronize());
  EXPECT_EQ(seen.count, 10);
}

TEST_F(StreamTest, QueryTellsWhetherWorkIsLeft) {
  OwnStream stream;
  Device device(64);
  CU_OK(cuStreamQuery(stream));
  hitproof_sim_latch_hold(stream);
  CU_OK(cuMemsetD8Async(device.at(), 1, 64, stream));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  hitproof_sim_latch_release(stream);
  CU_OK(cuStreamSynchronize(stream));
  CU_OK(cuStreamQuery(stream));
}

TEST_F(StreamTest, TheLatchLetsOperationsGoOneByOne) {
  OwnStream stream;
  Device device(3);
  Pinned out(3);
  hitproof_sim_latch_hold(stream);
  for (int i = 0; i < 3; ++i)
    CU_OK(cuMemsetD8Async(device.at(static_cast<size_t>(i)), 9, 1, stream));
  EXPECT_EQ(hitproof_sim_latch_pending(stream), 3);
  EXPECT_EQ(hitproof_sim_latch_step(stream, 2), 0);
  EXPECT_EQ(hitproof_sim_latch_wait(stream, 1, 5000), 0);
  EXPECT_EQ(hitproof_sim_latch_wait(stream, 0, 20), -1);
  EXPECT_EQ(device.read(), (std::vector<unsigned char>{9, 9, 0}));
  EXPECT_EQ(hitproof_sim_latch_release(stream), 0);
  EXPECT_EQ(hitproof_sim_latch_wait(stream, 0, 5000), 0);
  EXPECT_EQ(hitproof_sim_latch_hold(reinterpret_cast<CUstream>(&device)), -1);
}

TEST_F(StreamTest, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  OwnStream blocking(CU_STREAM_DEFAULT), free_running(CU_STREAM_NON_BLOCKING);
  Device device(16);
  hitproof_sim_latch_hold(blocking);
  CU_OK(cuMemsetD8Async(device.at(), 1, 16, blocking));
  CU_OK(cuMemsetD8Async(device.at(), 2, 16, nullptr)); // after the held one
  CU_OK(cuMemsetD8Async(device.at(8), 3, 8, free_running));
  CU_OK(cuStreamSynchronize(free_running)); // does not care
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  hitproof_sim_latch_release(blocking);
  CU_OK(cuStreamSynchronize(nullptr));
  EXPECT_EQ(device.read(), std::vector<unsigned char>(16, 2));

  hitproof_sim_latch_hold(CU_STREAM_LEGACY);
  CU_OK(cuMemsetD8Async(device.at(), 4, 16, CU_STREAM_LEGACY));
  CU_OK(cuMemsetD8Async(device.at(), 5, 16, blocking));
  EXPECT_EQ(hitproof_sim_latch_wait(blocking, 0, 30), -1);
  hitproof_sim_latch_release(CU_STREAM_LEGACY);
  CU_OK(cuStreamSynchronize(blocking));
  EXPECT_EQ(device.read(), std::vector<unsigned char>(16, 5));
}

TEST_F(StreamTest, EveryThreadHasItsOwnPerThreadStream) {
  unsigned long long mine = 0, again = 0, other = 0, legacy = 0;
  CU_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &mine));
  CU_OK(cuStreamGetId_ptsz(nullptr, &again));
  CU_OK(cuStreamGetId(nullptr, &legacy));
  std::thread([&] {
    cuCtxSetCurrent(context_);
    cuStreamGetId(CU_STREAM_PER_THREAD, &other);
  }).join();
  EXPECT_EQ(mine, again);
  EXPECT_NE(mine, other);
  EXPECT_NE(mine, legacy);
  EXPECT_NE(other, 0u);
}

TEST_F(StreamTest, ManyThreadsManyStreamsNoDeadlock) {
  constexpr int threads = 4, rounds = 200;
  std::vector<std::thread> workers;
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < threads; ++i)
    devices.push_back(std::make_unique<Device>(64));
  for (int i = 0; i < threads; ++i)
    workers.emplace_back([&, i] {
      cuCtxSetCurrent(context_);
      OwnStream stream(CU_STREAM_DEFAULT);
      const CUdeviceptr at = devices[static_cast<size_t>(i)]->at();
      for (int round = 0; round < rounds; ++round) {
        cuMemsetD8Async(at, static_cast<unsigned char>(round), 64, stream);
        if (round % 3 == 0) cuMemsetD8Async(at, static_cast<unsigned char>(round), 64, nullptr);
        if (round % 7 == 0) cuStreamSynchronize(nullptr);
      }
      cuStreamSynchronize(stream);
    });
  for (auto& worker : workers)
    worker.join();
  CU_OK(cuCtxSynchronize());
  for (auto& device : devices)
    EXPECT_EQ(device->read()[63], static_cast<unsigned char>(rounds - 1));
}

TEST_F(StreamTest, NothingWorksWithoutAContext) {
  std::thread([] {
    CUdeviceptr ptr = 0;
    EXPECT_EQ(cuMemAlloc(&ptr, 64), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
}

} // namespace
} // namespace hitproof::sim::tests
