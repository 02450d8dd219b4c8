// Both forms of the batch copy: rules, orders, times at which sources are read.
#include "tests/sim/sim_test.h"

#include <algorithm>
#include <set>

namespace hitproof::sim::tests {
namespace {

constexpr size_t page = 256;

class BatchCopy : public SimTest {
 protected:
  // `count` pages from pinned memory to the device.
  void prepare(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      std::memset(in_.at(i * page), static_cast<int>(i + 1), page);
      dsts_.push_back(device_.at(i * page));
      srcs_.push_back(reinterpret_cast<CUdeviceptr>(in_.at(i * page)));
      sizes_.push_back(page);
    }
  }
  CUresult copy(CUstream stream, CUmemcpySrcAccessOrder order) {
    CUmemcpyAttributes attributes{order, {}, {}, 0};
    size_t index = 0;
    return cuMemcpyBatchAsync_v2(dsts_.data(), srcs_.data(), sizes_.data(), sizes_.size(),
                                 &attributes, &index, 1, stream);
  }
  Device device_{page * 64};
  Pinned in_{page * 64};
  std::vector<CUdeviceptr> dsts_, srcs_;
  std::vector<size_t> sizes_;
};

TEST_F(BatchCopy, MovesEveryEntry) {
  OwnStream stream;
  prepare(64);
  CU_OK(copy(stream, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM));
  CU_OK(cuStreamSynchronize(stream));
  const auto bytes = device_.read();
  EXPECT_EQ(std::memcmp(bytes.data(), in_.at(), bytes.size()), 0);
}

TEST_F(BatchCopy, RefusesTheLegacyStream) {
  prepare(2);
  EXPECT_EQ(copy(nullptr, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy(CU_STREAM_LEGACY, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), CUDA_ERROR_INVALID_VALUE);
  CU_OK(copy(CU_STREAM_PER_THREAD, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM));
  CU_OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
  EXPECT_EQ(device_.read()[page], 2);
}

TEST_F(BatchCopy, TheTwinTakesTheNullHandleAsThePerThreadStream) {
  prepare(2);
  CUmemcpyAttributes attributes{CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, {}, {}, 0};
  size_t index = 0;
  CU_OK(cuMemcpyBatchAsync_v2_ptsz(dsts_.data(), srcs_.data(), sizes_.data(), 2, &attributes,
                                   &index, 1, nullptr));
  CU_OK(cuStreamSynchronize_ptsz(nullptr));
  EXPECT_EQ(device_.read()[page], 2);
}

TEST_F(BatchCopy, TheOlderFormNamesTheEntryThatFailed) {
  OwnStream stream;
  prepare(4);
  dsts_[2] = 0;
  CUmemcpyAttributes attributes{CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, {}, {}, 0};
  size_t index = 0, failed = 99;
  EXPECT_EQ(cuMemcpyBatchAsync(dsts_.data(), srcs_.data(), sizes_.data(), 4, &attributes, &index, 1,
                               stream),
            CUDA_ERROR_INVALID_VALUE);
  const auto older =
      reinterpret_cast<CUresult (*)(CUdeviceptr*, CUdeviceptr*, size_t*, size_t,
                                    CUmemcpyAttributes*, size_t*, size_t, size_t*, CUstream)>([] {
        void* function = nullptr;
        cuGetProcAddress("cuMemcpyBatchAsync", &function, 12080, 0, nullptr);
        return function;
      }());
  ASSERT_NE(older, nullptr);
  EXPECT_EQ(
      older(dsts_.data(), srcs_.data(), sizes_.data(), 4, &attributes, &index, 1, &failed, stream),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, 2u);
  index = 1; // not about one entry
  EXPECT_EQ(
      older(dsts_.data(), srcs_.data(), sizes_.data(), 4, &attributes, &index, 1, &failed, stream),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, ~size_t{0});
}

TEST_F(BatchCopy, ChecksTheAttributes) {
  OwnStream stream;
  prepare(4);
  auto with = [&](std::vector<size_t> indices, size_t count, CUmemcpySrcAccessOrder order) {
    std::vector<CUmemcpyAttributes> attributes(std::max<size_t>(indices.size(), 1),
                                               {order, {}, {}, 0});
    return cuMemcpyBatchAsync_v2(dsts_.data(), srcs_.data(), sizes_.data(), count,
                                 attributes.data(), indices.data(), indices.size(), stream);
  };
  CU_OK(with({0, 2}, 4, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM));
  EXPECT_EQ(with({}, 4, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with({1}, 4, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with({0, 0}, 4, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with({0, 4}, 4, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with({0}, 4, CU_MEMCPY_SRC_ACCESS_ORDER_INVALID), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with({0}, 0, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), CUDA_ERROR_INVALID_VALUE);
  CU_OK(cuStreamSynchronize(stream));
}

TEST_F(BatchCopy, DuringApiCallReadsBeforeTheReturnStreamOrderAfter) {
  OwnStream stream;
  prepare(2);
  hitproof_sim_latch_hold(stream);
  CUmemcpyAttributes attributes[] = {{CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL, {}, {}, 0},
                                     {CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, {}, {}, 0}};
  size_t indices[] = {0, 1};
  CU_OK(cuMemcpyBatchAsync_v2(dsts_.data(), srcs_.data(), sizes_.data(), 2, attributes, indices, 2,
                              stream));
  std::memset(in_.at(), 77, 2 * page);
  hitproof_sim_latch_release(stream);
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(device_.read()[0], 1);
  EXPECT_EQ(device_.read()[page], 77);
}

TEST_F(BatchCopy, AnyOrderMayReadEarlyOrLateAsTheSeedSays) {
  OwnStream stream;
  prepare(32);
  hitproof_sim_set_seed(11);
  hitproof_sim_latch_hold(stream);
  CU_OK(copy(stream, CU_MEMCPY_SRC_ACCESS_ORDER_ANY));
  std::memset(in_.at(), 77, 32 * page);
  hitproof_sim_latch_release(stream);
  CU_OK(cuStreamSynchronize(stream));
  const auto bytes = device_.read();
  int late = 0;
  for (size_t i = 0; i < 32; ++i)
    late += bytes[i * page] == 77;
  EXPECT_GT(late, 0);
  EXPECT_LT(late, 32);
}

TEST_F(BatchCopy, TheSeedChoosesTheOrderOfTheEntries) {
  OwnStream stream;
  // All entries write one page, so the last one shows: illegal for a program, telling for a test.
  prepare(16);
  std::fill(dsts_.begin(), dsts_.end(), device_.at());
  std::set<int> last;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    hitproof_sim_set_seed(seed);
    CU_OK(copy(stream, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM));
    CU_OK(cuStreamSynchronize(stream));
    const int shown = device_.read()[0];
    if (seed == 0) {
      EXPECT_EQ(shown, 16);
    }
    last.insert(shown);
  }
  EXPECT_GT(last.size(), 3u);
}

TEST_F(BatchCopy, KeepsItsPlaceInTheStreamAsAWhole) {
  OwnStream stream;
  prepare(64);
  Pinned out(64 * page);
  for (uint64_t seed = 1; seed < 20; ++seed) {
    hitproof_sim_set_seed(seed);
    CU_OK(cuMemsetD8Async(device_.at(), 0, 64 * page, stream));
    CU_OK(copy(stream, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM));
    CU_OK(cuMemcpyDtoHAsync(out.at(), device_.at(), 64 * page, stream));
    CU_OK(cuStreamSynchronize(stream));
    ASSERT_EQ(std::memcmp(out.at(), in_.at(), 64 * page), 0);
  }
}

} // namespace
} // namespace hitproof::sim::tests
