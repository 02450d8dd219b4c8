#include "engine/runtime/collectives_choice.h"
#include "engine/runtime/kernel_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

bool all(int, int) { return true; }
bool none(int from, int to) { return from == to; }

template <class Error>
std::string complaint(const std::string& wanted, int tp, const std::vector<int>& gpus,
                      bool (*reaches)(int, int)) {
  try {
    return "chose " + choose_collectives(wanted, tp, gpus, reaches);
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(CollectivesChoice, AutoIsDeviceMemoryWhereItIsReached) {
  EXPECT_EQ(choose_collectives("auto", 4, {0}, none), "ipc");
  EXPECT_EQ(choose_collectives("auto", 2, {0, 1}, all), "ipc");
  EXPECT_EQ(choose_collectives("auto", 1, {3}, none), "ipc");
  EXPECT_EQ(choose_collectives("auto", 2, {0, 1}, none), "nccl");
  // GPUs that no rank uses do not count.
  EXPECT_EQ(choose_collectives("auto", 1, {0, 1}, none), "ipc");
}

TEST(CollectivesChoice, NcclNeedsAGpuForEveryRank) {
  EXPECT_EQ(choose_collectives("nccl", 2, {0, 1}, all), "nccl");
  EXPECT_EQ(choose_collectives("nccl", 2, {1, 0, 2}, none), "nccl");
  for (const std::vector<int>& gpus : {std::vector<int>{0}, {0, 0}, {1, 0, 1}})
    EXPECT_THAT(complaint<std::invalid_argument>("nccl", 3, gpus, all),
                AllOf(HasSubstr("a GPU for every rank"), HasSubstr("3 different GPUs"),
                      HasSubstr("--collectives ipc")));
}

TEST(CollectivesChoice, WhatCannotBeReachedIsNamed) {
  EXPECT_THAT(
      complaint<EnvironmentError>("ipc", 2, {2, 5}, none),
      AllOf(HasSubstr("GPU 2 cannot reach the memory of GPU 5"), HasSubstr("--collectives nccl")));
  // Four ranks on two GPUs: NCCL is no way out.
  EXPECT_THAT(complaint<EnvironmentError>("auto", 4, {0, 1}, none),
              AllOf(HasSubstr("GPU 0 cannot reach"), testing::Not(HasSubstr("nccl"))));
}

} // namespace
} // namespace hitproof::engine
