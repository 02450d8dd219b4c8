// Device collectives between processes on the simulated device, against those in shared memory.
#include "engine/runtime/device_collectives.h"
#include "engine/sim/latch.h"
#include "tests/runtime/sim_main.h"
#include "tests/runtime/stream_kernels.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace hitproof::engine {
namespace {

constexpr size_t small_slot = 4096;

struct Rank {
  Collectives& host;
  Collectives& on_device;
  const device::Stream& stream;
};

// Device memory that the test fills and reads once the stream has come to its end.
struct Buffer {
  explicit Buffer(size_t size)
      : bytes(size), data(static_cast<std::byte*>(device::allocate(size + 1))) {}
  ~Buffer() { device::release(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  float* floats(size_t at = 0) const { return reinterpret_cast<float*>(data) + at; }
  void fill(const std::vector<float>& values) const {
    std::memcpy(data, values.data(), values.size() * sizeof(float));
  }
  size_t bytes;
  std::byte* data;
};

// Runs `body` as every rank, in a process each, because only processes of their own can open each
// other's memory. The exit status of each rank: 0 where body said true, 1 otherwise.
std::vector<int> statuses(int size, size_t slot_bytes, const std::function<bool(Rank)>& body) {
  const int fd = create_collectives_memory(size, size_t{1} << 20);
  std::vector<pid_t> children;
  for (int r = 0; r < size; ++r) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      bool good = false;
      try {
        device::select(0);
        const auto host = open_collectives(fd, r, {.timeout = std::chrono::seconds(60)});
        const device::Stream stream;
        const auto on_device =
            open_device_collectives(*host, stream_kernels(60), stream, slot_bytes);
        good = body({*host, *on_device, stream});
      } catch (const std::exception& e) {
        std::fprintf(stderr, "rank %d: %s\n", r, e.what());
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  std::vector<int> list;
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    list.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  ::close(fd);
  return list;
}

bool on_processes(int size, size_t slot_bytes, const std::function<bool(Rank)>& body) {
  return statuses(size, slot_bytes, body) == std::vector<int>(static_cast<size_t>(size), 0);
}

std::vector<float> values(int rank, size_t n, uint32_t seed) {
  std::mt19937 random(seed * 31 + static_cast<uint32_t>(rank));
  std::uniform_real_distribution<float> any(-1e3f, 1e3f);
  std::vector<float> v(n);
  for (float& x : v)
    x = any(random);
  return v;
}

bool same(const Rank& rank, const float* device_data, const float* host_data, size_t n) {
  rank.stream.synchronize();
  return n == 0 || std::memcmp(device_data, host_data, n * sizeof(float)) == 0;
}

bool reduces(const Rank& rank, size_t n, uint32_t seed) {
  auto want = values(rank.host.rank(), n, seed);
  const Buffer data(n * sizeof(float));
  data.fill(want);
  rank.on_device.all_reduce(data.floats(), static_cast<int>(n));
  rank.host.all_reduce(want.data(), static_cast<int>(n));
  return same(rank, data.floats(), want.data(), n);
}

// In place, as the model does it: sum the own rows where they are, then gather all.
bool scatters_and_gathers(const Rank& rank, int rows, int cols, uint32_t seed) {
  const auto n = static_cast<size_t>(rows) * static_cast<size_t>(cols);
  const auto [first, last] = Collectives::row_range(rows, rank.host.rank(), rank.host.size());
  const size_t begin = static_cast<size_t>(first) * static_cast<size_t>(cols);
  const size_t count = static_cast<size_t>(last - first) * static_cast<size_t>(cols);
  auto want = values(rank.host.rank(), n, seed);
  const Buffer data(n * sizeof(float));
  const Buffer apart(n * sizeof(float));
  data.fill(want);
  rank.on_device.reduce_scatter_rows(data.floats(), rows, cols, apart.floats());
  rank.on_device.reduce_scatter_rows(data.floats(), rows, cols, data.floats(begin));
  rank.host.reduce_scatter_rows(want.data(), rows, cols, want.data() + begin);
  if (!same(rank, data.floats(begin), want.data() + begin, count)) return false;
  if (!same(rank, apart.floats(), want.data() + begin, count)) return false;
  rank.on_device.all_gather_rows(data.floats(begin), rows, cols, data.floats());
  rank.host.all_gather_rows(want.data() + begin, rows, cols, want.data());
  return same(rank, data.floats(), want.data(), n);
}

bool gathers(const Rank& rank, size_t bytes, size_t offset, uint32_t seed) {
  const auto words = values(rank.host.rank(), bytes / 4 + 1, seed);
  const Buffer mine(bytes + offset);
  const Buffer all(bytes * static_cast<size_t>(rank.host.size()));
  std::memcpy(mine.data + offset, words.data(), bytes);
  std::vector<std::byte> want(all.bytes);
  rank.on_device.all_gather(mine.data + offset, bytes, all.data);
  rank.host.all_gather(words.data(), bytes, want.data());
  rank.stream.synchronize();
  return std::memcmp(all.data, want.data(), want.size()) == 0;
}

bool agrees(const Rank& rank, uint32_t seed, int rounds) {
  std::mt19937 random(seed); // the same schedule on every rank
  const auto up_to = [&](unsigned most) { return 1 + random() % most; };
  for (int i = 0; i < rounds; ++i) {
    const uint32_t s = seed + static_cast<uint32_t>(i);
    switch (random() % 4) {
    case 0:
      if (!reduces(rank, up_to(5000), s)) return false;
      break;
    case 1: {
      const int rows = static_cast<int>(up_to(90));
      if (!scatters_and_gathers(rank, rows, static_cast<int>(up_to(70)), s)) return false;
      break;
    }
    case 2: {
      const size_t bytes = up_to(9000);
      if (!gathers(rank, bytes, random() % 2, s)) return false;
      break;
    }
    default:
      rank.on_device.barrier();
    }
  }
  return true;
}

TEST(DeviceCollectives, AgreeWithSharedMemoryBitForBit) {
  for (const int size : {2, 3, 4}) {
    EXPECT_TRUE(on_processes(size, small_slot, [](Rank r) { return agrees(r, 3, 60); })) << size;
    EXPECT_TRUE(on_processes(size, size_t{1} << 18, [](Rank r) { return agrees(r, 4, 40); }))
        << size;
  }
}

TEST(DeviceCollectives, OneRankCopies) {
  EXPECT_TRUE(on_processes(1, small_slot, [](Rank r) { return agrees(r, 5, 20); }));
}

// Without a look at the device between them, slots and events are used again while earlier
// operations still run.
bool many_in_a_row(const Rank& rank) {
  constexpr int rows = 5, cols = 100, n = rows * cols, operations = 300;
  const int first = Collectives::row_range(rows, rank.host.rank(), rank.host.size()).first;
  std::vector<float> want = values(rank.host.rank(), size_t{n} * operations, 8);
  const Buffer data(want.size() * sizeof(float));
  data.fill(want);
  const auto run = [&](Collectives& on, float* all) {
    for (int i = 0; i < operations; ++i, all += n) {
      if (i % 3 == 0) on.all_reduce(all, n);
      if (i % 3 == 1) on.reduce_scatter_rows(all, rows, cols, all + first * cols);
      if (i % 3 == 2) on.all_gather_rows(all + first * cols, rows, cols, all);
    }
  };
  run(rank.on_device, data.floats());
  run(rank.host, want.data());
  return same(rank, data.floats(), want.data(), want.size());
}

TEST(DeviceCollectives, ManyOperationsWithoutAWait) {
  for (const int size : {2, 4})
    EXPECT_TRUE(on_processes(size, small_slot, many_in_a_row)) << size;
}

// Rank 1's stream is held while both enqueue a sum: rank 0 must wait for it on its stream. With
// `deaf`, the device ignores waits for events.
bool sums_behind_a_held_peer(const Rank& rank, bool deaf) {
  const auto stream = static_cast<CUstream>(rank.stream.get());
  const bool held = rank.host.rank() == 1;
  if (deaf && hitproof_sim_set_break("ignore_event") != 0) return false;
  const Buffer data(64 * sizeof(float));
  data.fill(std::vector<float>(64, 1.0f));
  if (held && hitproof_sim_latch_hold(stream) != 0) return false;
  rank.on_device.all_reduce(data.floats(), 64);
  if (held) {
    ::usleep(300000);
    hitproof_sim_latch_release(stream);
  }
  rank.stream.synchronize();
  const float want = static_cast<float>(rank.host.size());
  bool right = true;
  for (size_t i = 0; i < 64; ++i)
    right = right && data.floats()[i] == want;
  return held || right;
}

TEST(DeviceCollectives, AStreamWaitsForAPeerThatIsBehind) {
  EXPECT_TRUE(
      on_processes(2, small_slot, [](Rank r) { return sums_behind_a_held_peer(r, false); }));
}

// The control: where event waits do nothing, the sum is made of what the peer has not written yet.
TEST(DeviceCollectives, WithoutTheWaitTheSumIsWrong) {
  EXPECT_EQ(statuses(2, small_slot, [](Rank r) { return sums_behind_a_held_peer(r, true); }),
            (std::vector<int>{1, 0}));
}

TEST(DeviceCollectives, APeerThatDiesIsNoticed) {
  const auto body = [](Rank r) {
    const Buffer data(64 * sizeof(float));
    if (r.host.rank() == 1) ::_exit(7);
    try {
      r.on_device.all_reduce(data.floats(), 64);
    } catch (const CollectiveError& e) {
      return std::string(e.what()).find("rank 1 died") != std::string::npos;
    }
    return false;
  };
  EXPECT_EQ(statuses(2, small_slot, body), (std::vector<int>{0, 7}));
}

TEST(DeviceCollectives, ARowThatFitsNoSlotIsRefused) {
  EXPECT_TRUE(on_processes(2, small_slot, [](Rank r) {
    const Buffer data(size_t{1} << 16);
    try {
      r.on_device.all_gather_rows(data.floats(), 2, 1025, data.floats());
    } catch (const CollectiveError&) {
      return true;
    }
    return false;
  }));
}

} // namespace
} // namespace hitproof::engine

int main(int argc, char** argv) { return hitproof::engine::run_tests_on_sim(argc, argv); }
