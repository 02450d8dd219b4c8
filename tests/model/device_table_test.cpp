// The forward pass through a device's table gives the CPU's bits, and the host touches no memory of
// the device.
//
// The device is the stand-in of late_device.h; with HITPROOF_MODEL_KERNELS=<libhitproof_model_cuda>
// it is the real one.
#include "tests/model/harness.h"
#include "tests/model/late_device.h"

#include <array>
#include <csignal>
#include <gtest/gtest.h>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

namespace hitproof::engine::testing {
namespace {

constexpr uint64_t seed = 41;
constexpr int blocks = 80;

class Device {
 public:
  Device() {
    if (const kernels::ModelKernels* real = kernels_of_environment()) {
      side_.kernels = real;
      return;
    }
    side_.kernels = &late_device_kernels();
    for (LateStream& stream : streams_)
      side_.streams.push_back(&stream);
  }
  const TestSide& side() const { return side_; }
  bool stand_in() const { return !side_.streams.empty(); }

 private:
  std::array<LateStream, 4> streams_;
  TestSide side_;
};

// Everything that an engine lets out.
struct Observed {
  std::vector<SeqOutput> outputs;
  std::vector<std::vector<std::byte>> memory; // of each rank
  int proposed = 0;
  int accepted = 0;
};

void step(TestEngine& engine, Observed& seen,
          std::initializer_list<std::pair<TestRequest*, SeqInput>> parts) {
  std::vector<SeqInput> inputs;
  for (const auto& [request, input] : parts)
    inputs.push_back(input);
  const std::vector<SeqOutput> outputs = engine.step(inputs);
  size_t i = 0;
  for (const auto& [request, input] : parts)
    request->absorb(input, outputs[i++]);
  seen.outputs.insert(seen.outputs.end(), outputs.begin(), outputs.end());
}

// Prompts that the indexer must choose from, chunks that end inside a pool, prefill beside decode,
// drafts accepted and rejected.
Observed run(const ModelConfig& config, int tp, const TestSide& side, bool broken_tails = false,
             int decode_steps = 16) {
  TestEngine engine(config, tp, seed, blocks, KernelProfile::recorded(), side);
  for (int r = 0; r < tp; ++r)
    engine.model(r).break_tail_writes(broken_tails);
  Observed seen;
  TestRequest first(engine, random_prompt(1, 200, config.vocab));
  step(engine, seen, {{&first, first.prefill_input(128)}});
  step(engine, seen, {{&first, first.prefill_input(200)}});
  TestRequest second(engine, random_prompt(2, 150, config.vocab));
  for (const int end : {3, 70, 128, 150}) {
    step(engine, seen, {{&second, second.prefill_input(end)}, {&first, first.decode_input(true)}});
  }
  for (int i = 0; i < decode_steps; ++i) {
    step(engine, seen,
         {{&first, first.decode_input(i % 3 != 0)}, {&second, second.decode_input(true)}});
  }
  seen.proposed = first.proposed() + second.proposed();
  seen.accepted = first.accepted_drafts() + second.accepted_drafts();
  for (int r = 0; r < tp; ++r)
    seen.memory.push_back(engine.memory_content(r));
  return seen;
}

void expect_equal(const Observed& device, const Observed& host) {
  ASSERT_EQ(device.outputs.size(), host.outputs.size());
  for (size_t i = 0; i < host.outputs.size(); ++i) {
    EXPECT_EQ(device.outputs[i].accepted, host.outputs[i].accepted) << i;
    EXPECT_EQ(device.outputs[i].sampled, host.outputs[i].sampled) << i;
    EXPECT_EQ(device.outputs[i].logits_sha256, host.outputs[i].logits_sha256) << i;
    EXPECT_EQ(device.outputs[i].margin, host.outputs[i].margin) << i;
    EXPECT_EQ(device.outputs[i].draft, host.outputs[i].draft) << i;
  }
  ASSERT_EQ(device.memory.size(), host.memory.size());
  for (size_t r = 0; r < host.memory.size(); ++r)
    EXPECT_TRUE(device.memory[r] == host.memory[r]) << "cache of rank " << r;
}

TEST(DeviceTable, GivesTheBitsOfTheCpu) {
  const Device device;
  const ModelConfig config = find_preset("micro");
  const Observed host = run(config, 1, {});
  EXPECT_GT(host.accepted, 0);
  EXPECT_LT(host.accepted, host.proposed);
  expect_equal(run(config, 1, device.side()), host);
}

TEST(DeviceTable, GivesTheBitsOfTheCpuOnTwoRanks) {
  const Device device;
  const ModelConfig config = find_preset("micro");
  expect_equal(run(config, 2, device.side(), false, 2), run(config, 2, {}, false, 2));
}

TEST(DeviceTable, BrokenTailWritesAreTheSame) {
  const Device device;
  const ModelConfig config = find_preset("micro");
  const Observed broken = run(config, 1, device.side(), true);
  expect_equal(broken, run(config, 1, {}, true));
  EXPECT_FALSE(broken.memory == run(config, 1, {}).memory);
}

TEST(DeviceTable, ExactNumericsRunWhereTheTableHasThem) {
  const Device device;
  if (!device.stand_in()) GTEST_SKIP() << "a device's exponential is not the host's";
  const ModelConfig config = find_preset("parity");
  expect_equal(run(config, 1, device.side()), run(config, 1, {}));

  kernels::ModelKernels lacking = *device.side().kernels;
  lacking.kda_conv_silu_exact = nullptr;
  TestSide side = device.side();
  side.kernels = &lacking;
  EXPECT_THROW(TestEngine(config, 1, seed, blocks, KernelProfile::recorded(), side),
               std::invalid_argument);
}

TEST(DeviceTable, OfAnotherBuildIsRefused) {
  const Device device;
  kernels::ModelKernels other = *device.side().kernels;
  other.table_bytes += 8;
  TestSide side = device.side();
  side.kernels = &other;
  EXPECT_THROW(TestEngine(find_preset("micro"), 1, seed, blocks, KernelProfile::recorded(), side),
               std::invalid_argument);
}

TEST(DeviceTable, FreeChoicesAreTimedOnTheDevice) {
  const Device device;
  const ModelConfig config = find_preset("micro");
  TestEngine engine(config, 1, seed, blocks, KernelProfile::unpinned(), device.side());
  TestRequest request(engine, random_prompt(1, 120, config.vocab));
  request.generate(2, 128);
  const KernelProfile used = engine.model(0).profile_used();
  EXPECT_TRUE(used.pinned());
  EXPECT_EQ(used.value("kda_chunk"), "0");
}

TEST(DeviceTable, NoBytesOfASideAreMemoryToo) {
  for (const auto place : {SideMemory::Place::side, SideMemory::Place::pinned})
    EXPECT_NE(SideMemory(late_device_kernels(), place, 0).data(), nullptr);
}

TEST(DeviceTable, RefusesInputsThatAreOnlyOnTheHost) {
  const Device device;
  const ModelConfig config = find_preset("micro");
  TestEngine engine(config, 1, seed, blocks, KernelProfile::recorded(), device.side());
  TestRequest request(engine, random_prompt(1, 30, config.vocab));
  const SeqInput in = request.prefill_input(30);
  SeqOutput out;
  EXPECT_THROW(engine.model(0).step(std::span(&in, 1), std::span(&out, 1)), std::logic_error);
}

// Controls of the stand-in: each of its checks finds what it is for.
class LateDevice : public ::testing::Test {
 protected:
  const kernels::ModelKernels& k_ = late_device_kernels();
  LateStream stream_;
  int32_t* side_ = static_cast<int32_t*>(k_.allocate(sizeof(int32_t)));
};

TEST_F(LateDevice, HostAccessCrashes) {
  EXPECT_EXIT(std::exit(*static_cast<volatile int32_t*>(side_) == 0 ? 0 : 1),
              ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(LateDevice, WorkWaitsForTheHost) {
  int32_t value = -1;
  k_.count_visible(&stream_, 6, 1, side_);
  k_.to_host(&stream_, &value, side_, sizeof value);
  EXPECT_EQ(value, -1);
  k_.synchronize(&stream_);
  EXPECT_EQ(value, 7);
}

TEST_F(LateDevice, PointersOfTheWrongSideAreRefused) {
  int32_t host = 0;
  EXPECT_THROW(k_.count_visible(&stream_, 0, 1, &host), std::logic_error);
  EXPECT_THROW(k_.count_visible(nullptr, 0, 1, side_), std::logic_error);
  EXPECT_THROW(k_.to_host(&stream_, side_, side_, sizeof host), std::logic_error);
  k_.release(side_);
  EXPECT_THROW(k_.count_visible(&stream_, 0, 1, side_), std::logic_error);
}

} // namespace
} // namespace hitproof::engine::testing
