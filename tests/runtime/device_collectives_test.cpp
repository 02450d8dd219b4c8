// Device collectives between processes on the simulated device, against those in shared memory.
#include "engine/runtime/device_collectives.h"
#include "engine/sim/latch.h"
#include "tests/runtime/collective_cases.h"
#include "tests/runtime/sim_main.h"
#include "tests/runtime/stream_kernels.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <vector>

namespace hitproof::engine {
namespace {

constexpr size_t small_slot = 4096;

Group group_of(int size, size_t slot_bytes = small_slot) {
  return {size, [slot_bytes](Collectives& host, const device::Stream& stream) {
            return open_device_collectives(host, stream_kernels(60), stream, slot_bytes);
          }};
}

TEST(DeviceCollectives, AgreeWithSharedMemoryBitForBit) {
  for (const int size : {2, 3, 4}) {
    EXPECT_TRUE(on_processes(group_of(size), [](Rank r) { return agrees(r, 3, 60); })) << size;
    EXPECT_TRUE(on_processes(group_of(size, size_t{1} << 18), [](Rank r) {
      return agrees(r, 4, 40);
    })) << size;
  }
}

TEST(DeviceCollectives, OneRankCopies) {
  EXPECT_TRUE(on_processes(group_of(1), [](Rank r) { return agrees(r, 5, 20); }));
}

// Slots and events are used again while earlier operations still run.
TEST(DeviceCollectives, ManyOperationsWithoutAWait) {
  for (const int size : {2, 4})
    EXPECT_TRUE(on_processes(group_of(size), many_in_a_row)) << size;
}

// Rank 1's stream is held while both enqueue a sum: rank 0 must wait for it on its stream. With
// `deaf`, the device ignores waits for events.
bool sums_behind_a_held_peer(const Rank& rank, bool deaf) {
  const auto stream = static_cast<CUstream>(rank.stream.get());
  const bool held = rank.host.rank() == 1;
  if (deaf && hitproof_sim_set_break("ignore_event") != 0) return false;
  const Buffer data(64 * sizeof(float));
  data.fill(rank, std::vector<float>(64, 1.0f));
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
  EXPECT_TRUE(on_processes(group_of(2), [](Rank r) { return sums_behind_a_held_peer(r, false); }));
}

// The control: where event waits do nothing, the sum is made of what the peer has not written yet.
TEST(DeviceCollectives, WithoutTheWaitTheSumIsWrong) {
  EXPECT_EQ(statuses(group_of(2), [](Rank r) { return sums_behind_a_held_peer(r, true); }),
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
  EXPECT_EQ(statuses(group_of(2), body), (std::vector<int>{0, 7}));
}

TEST(DeviceCollectives, ARowThatFitsNoSlotIsRefused) {
  EXPECT_TRUE(on_processes(group_of(2), [](Rank r) {
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
