#include "engine/runtime/collectives.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace hitproof::engine {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int ranks = 4;

std::vector<float> values(int rank, int n, uint32_t seed) {
  std::mt19937 random(seed * 31 + static_cast<uint32_t>(rank));
  std::uniform_real_distribution<float> any(-1e3f, 1e3f);
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v)
    x = any(random);
  return v;
}

std::vector<float> serial_sum(int n, uint32_t seed, int size = ranks) {
  std::vector<float> sum = values(0, n, seed);
  for (int r = 1; r < size; ++r) {
    const auto term = values(r, n, seed);
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += term[i];
  }
  return sum;
}

// Runs `body` as every rank, on threads of this process with a mapping each.
void on_threads(int size, size_t slot_bytes, const std::function<void(Collectives&)>& body) {
  const int fd = create_collectives_memory(size, slot_bytes);
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] { body(*open_collectives(fd, r)); });
  for (auto& t : threads)
    t.join();
  ::close(fd);
}

// The same in forked processes; body returns whether all was well.
bool on_processes(size_t slot_bytes, const std::function<bool(Collectives&)>& body) {
  const int fd = create_collectives_memory(ranks, slot_bytes);
  std::vector<pid_t> children;
  for (int r = 0; r < ranks; ++r) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(body(*open_collectives(fd, r)) ? 0 : 1);
    children.push_back(pid);
  }
  bool good = true;
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  ::close(fd);
  return good;
}

bool all_operations_agree(Collectives& c, uint32_t seed) {
  const int r = c.rank();
  for (const int n : {1, 3, 31, 4096, 20000}) {
    auto data = values(r, n, seed);
    c.all_reduce(data.data(), n);
    const auto want = serial_sum(n, seed, c.size());
    if (std::memcmp(data.data(), want.data(), data.size() * sizeof(float)) != 0) return false;
  }
  for (const int rows : {1, 2, 5, 7, 64, 301}) {
    const int cols = 24;
    const auto width = static_cast<size_t>(cols);
    const auto partial = values(r, rows * cols, seed + 1);
    const auto want = serial_sum(rows * cols, seed + 1, c.size());
    const auto [first, last] = Collectives::row_range(rows, r, c.size());
    std::vector<float> own(static_cast<size_t>(last - first) * width);
    c.reduce_scatter_rows(partial.data(), rows, cols, own.data());
    if (!own.empty() && std::memcmp(own.data(), want.data() + static_cast<size_t>(first) * width,
                                    own.size() * sizeof(float)) != 0)
      return false;
    std::vector<float> all(static_cast<size_t>(rows) * width, -1.0f);
    c.all_gather_rows(own.data(), rows, cols, all.data());
    if (std::memcmp(all.data(), want.data(), all.size() * sizeof(float)) != 0) return false;
  }
  for (const size_t bytes : {size_t{1}, size_t{7}, size_t{10000}}) {
    const std::vector<uint8_t> mine(bytes, static_cast<uint8_t>(r + 1));
    std::vector<uint8_t> all(bytes * static_cast<size_t>(c.size()));
    c.all_gather(mine.data(), bytes, all.data());
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i] != i / bytes + 1) return false;
  }
  c.barrier();
  return true;
}

TEST(RowRange, CoversAllRowsInOrder) {
  for (int rows = 0; rows < 20; ++rows) {
    int next = 0;
    for (int r = 0; r < 3; ++r) {
      const auto [first, last] = Collectives::row_range(rows, r, 3);
      EXPECT_EQ(first, next);
      EXPECT_LE(last - first, rows / 3 + 1);
      next = last;
    }
    EXPECT_EQ(next, rows);
  }
}

TEST(Collectives, SingleRankCopies) {
  const auto c = single_rank_collectives();
  EXPECT_TRUE(all_operations_agree(*c, 5));
}

TEST(Collectives, SumsEqualTheSerialSumBitForBit) {
  for (const int size : {2, 3, 4})
    on_threads(size, size_t{1} << 20,
               [](Collectives& c) { EXPECT_TRUE(all_operations_agree(c, 9)); });
}

TEST(Collectives, OperationsLargerThanASlotGoInPieces) {
  on_threads(ranks, 4096, [](Collectives& c) { EXPECT_TRUE(all_operations_agree(c, 13)); });
}

TEST(Collectives, ForkedProcessesAgreeTwice) {
  for (int run = 0; run < 2; ++run)
    EXPECT_TRUE(
        on_processes(size_t{1} << 20, [](Collectives& c) { return all_operations_agree(c, 17); }));
}

TEST(Collectives, ManyOperationsOfMixedSizes) {
  EXPECT_TRUE(on_processes(size_t{1} << 16, [](Collectives& c) {
    std::mt19937 random(99); // the same schedule on every rank
    for (int i = 0; i < 3000; ++i) {
      const int n = 1 + static_cast<int>(random() % 3000);
      std::vector<float> data(static_cast<size_t>(n), static_cast<float>(c.rank() + 1));
      if (random() % 5 == 0) c.barrier();
      c.all_reduce(data.data(), n);
      if (data.front() != 10.0f || data.back() != 10.0f) return false;
    }
    return true;
  }));
}

TEST(Collectives, InPlaceReduceScatterAndGather) {
  on_threads(ranks, 4096, [](Collectives& c) {
    const int rows = 500, cols = 16;
    auto data = values(c.rank(), rows * cols, 3);
    float* own = data.data() + Collectives::row_range(rows, c.rank(), ranks).first * cols;
    c.reduce_scatter_rows(data.data(), rows, cols, own);
    c.all_gather_rows(own, rows, cols, data.data());
    EXPECT_EQ(data, serial_sum(rows * cols, 3));
  });
}

TEST(Collectives, AKilledRankIsNoticed) {
  const int fd = create_collectives_memory(2);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto c = open_collectives(fd, 1);
    c->barrier();
    ::raise(SIGKILL);
  }
  const auto c = open_collectives(fd, 0);
  c->barrier();
  const auto begin = Clock::now();
  try {
    c->barrier();
    ADD_FAILURE() << "the barrier ended without its peer";
  } catch (const CollectiveError& e) {
    EXPECT_NE(std::string(e.what()).find("rank 1 died"), std::string::npos) << e.what();
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  ::waitpid(pid, nullptr, 0);
  ::close(fd);
}

TEST(Collectives, AnAbortingRankWakesTheOthers) {
  on_threads(3, 4096, [](Collectives& c) {
    c.barrier();
    if (c.rank() == 2) return abort_collectives(c);
    EXPECT_THROW(c.barrier(), CollectiveError);
  });
}

TEST(Collectives, APeerThatNeverComesRunsIntoTheTimeout) {
  const int fd = create_collectives_memory(2);
  const auto c = open_collectives(fd, 0, {.timeout = std::chrono::milliseconds(200)});
  EXPECT_THROW(c->barrier(), CollectiveError);
  ::close(fd);
}

TEST(Collectives, MemoryThatIsNotTheGroupsIsRefused) {
  const int other = ::memfd_create("other", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(other, 1 << 20), 0);
  EXPECT_THROW((void)open_collectives(other, 0), CollectiveError);
  const int fd = create_collectives_memory(2);
  EXPECT_THROW((void)open_collectives(fd, 2), CollectiveError);
  EXPECT_THROW((void)create_collectives_memory(0), CollectiveError);
  ::close(fd);
  ::close(other);
}

} // namespace
} // namespace hitproof::engine
