// Collectives over the real NCCL between processes with a GPU each, against those in shared memory.
// Needs two GPUs, and NCCL where engine/runtime/nccl_library.h looks for it; without two GPUs it
// says that it was skipped (exit status 77). Two ranks must agree bit for bit.
#include "engine/runtime/device_collectives.h"
#include "engine/runtime/kernel_library.h"
#include "engine/runtime/nccl_collectives.h"
#include "engine/runtime/nccl_library.h"
#include "engine/sim/cudart_subset.h"
#include "tests/runtime/collective_cases.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <gtest/gtest.h>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::engine {
namespace {

using Clock = std::chrono::steady_clock;

// Asked in a child: a process that has used CUDA cannot hand it on to its own children.
int count_gpus() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    int count = 0;
    ::_exit(cudaGetDeviceCount(&count) == cudaSuccess ? count : 0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}
int gpus = 0;

const kernels::ModelKernels& kernels_of(int gpu) {
  const kernels::ModelKernels& table = load_cuda_kernels();
  if (const char* wrong = table.bind(gpu); wrong != nullptr) throw EnvironmentError(wrong);
  return table;
}

Group over_nccl(int size, size_t scratch_bytes = size_t{16} << 20) {
  Group group;
  group.size = size;
  group.gpus.resize(static_cast<size_t>(size));
  std::iota(group.gpus.begin(), group.gpus.end(), 0);
  group.rank_order = size <= 2;
  group.open = [scratch_bytes](Collectives& host, const device::Stream& stream) {
    NcclOptions options;
    options.gpu = host.rank();
    options.scratch_bytes = scratch_bytes;
    options.timeout = std::chrono::seconds(60);
    auto opened = open_nccl_collectives(host, kernels_of(host.rank()), stream, options);
    if (host.rank() == 0) {
      std::string text = nccl::load().path;
      for (const auto& [name, value] : nccl::choices(nccl::load()))
        text += " " + name + "=" + value;
      std::printf("%s\n", text.c_str());
      std::fflush(stdout);
    }
    return opened;
  };
  return group;
}

Group over_device_memory(int size) {
  Group group = over_nccl(size);
  group.rank_order = true;
  group.open = [](Collectives& host, const device::Stream& stream) {
    return open_device_collectives(host, kernels_of(host.rank()), stream);
  };
  return group;
}

TEST(Nccl, TwoRanksAgreeWithSharedMemoryBitForBit) {
  EXPECT_TRUE(on_processes(over_nccl(2), [](Rank r) { return agrees(r, 3, 200); }));
  EXPECT_TRUE(on_processes(over_nccl(2, 4096), [](Rank r) { return agrees(r, 4, 100); }));
}

TEST(Nccl, UnevenRowsAndLargeOperations) {
  EXPECT_TRUE(on_processes(over_nccl(2, size_t{1} << 20), [](Rank r) {
    for (const int rows : {1, 2, 3, 5, 1791, 3455, 3456})
      if (!scatters_and_gathers(r, rows, 512, static_cast<uint32_t>(rows))) return false;
    return reduces(r, 20000003, 1) && gathers(r, 30000001, 1, 2);
  }));
}

TEST(Nccl, ManyOperationsWithoutAWait) { EXPECT_TRUE(on_processes(over_nccl(2), many_in_a_row)); }

TEST(Nccl, FourRanksAgreeWithinRounding) {
  if (gpus < 4) GTEST_SKIP() << "needs four GPUs, " << gpus << " are here";
  EXPECT_TRUE(on_processes(over_nccl(4), [](Rank r) { return agrees(r, 5, 100); }));
}

TEST(Nccl, TwoRunsAreEqual) {
  EXPECT_TRUE(on_processes(over_nccl(std::min(gpus, 4)), [](Rank r) {
    const auto once = [&](size_t n) {
      const Buffer data(n * sizeof(float));
      data.fill(r, values(r.host.rank(), n, 17));
      r.on_device.all_reduce(data.floats(), static_cast<int>(n));
      return Buffer::read(r, data.data, data.bytes);
    };
    for (const size_t n : {size_t{512}, size_t{99999}, size_t{3456 * 512}})
      if (once(n) != once(n)) return false;
    return true;
  }));
}

// The kernel of rank 0 waits for a peer that never comes: NCCL's work must be aborted, and the
// stream come to its end.
TEST(Nccl, APeerThatDiesIsNoticed) {
  const auto survivor = [](Rank r) -> bool {
    const Buffer data(64 * sizeof(float));
    if (r.host.rank() == 1) ::_exit(7);
    try {
      r.on_device.all_reduce(data.floats(), 64);
      r.stream.synchronize();
      r.on_device.check();
    } catch (const CollectiveError& e) {
      std::printf("survivor: %s\n", e.what());
      std::fflush(stdout);
      // Without the destructors: the group cannot meet again.
      ::_exit(std::string(e.what()).find("rank 1 died") != std::string::npos ? 0 : 1);
    }
    ::_exit(1);
  };
  EXPECT_EQ(statuses(over_nccl(2), survivor), (std::vector<int>{0, 7}));
}

// Not a test of speed: the figure stands in the log.
bool timed(const Rank& r, const char* what) {
  for (const int n : {512, 8192, 3456 * 512}) {
    const Buffer data(static_cast<size_t>(n) * sizeof(float));
    data.fill(r, std::vector<float>(static_cast<size_t>(n), 1.0f));
    constexpr int times = 200;
    r.on_device.all_reduce(data.floats(), n);
    r.stream.synchronize();
    r.host.barrier();
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i)
      r.on_device.all_reduce(data.floats(), n);
    r.stream.synchronize();
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    if (r.host.rank() == 0)
      std::printf("%-4s all_reduce of %8d floats: %9.1f us\n", what, n, us / times);
    std::fflush(stdout);
  }
  r.on_device.check();
  return true;
}

TEST(Nccl, TimesOfAnAllReduce) {
  EXPECT_TRUE(on_processes(over_nccl(2), [](Rank r) { return timed(r, "nccl"); }));
  EXPECT_TRUE(on_processes(over_device_memory(2), [](Rank r) { return timed(r, "ipc"); }));
}

} // namespace
} // namespace hitproof::engine

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  hitproof::engine::gpus = hitproof::engine::count_gpus();
  if (hitproof::engine::gpus < 2) {
    std::printf("SKIPPED: needs two GPUs, %d to be seen here\n", hitproof::engine::gpus);
    return 77;
  }
  return RUN_ALL_TESTS();
}
