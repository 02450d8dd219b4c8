// Our side of NCCL's interface, against a fake of the library on the simulated device; what NCCL
// itself does is for tests/gpu/nccl_test.cpp.
#include "engine/runtime/kernel_library.h"
#include "engine/runtime/nccl_collectives.h"
#include "engine/runtime/nccl_library.h"
#include "tests/runtime/collective_cases.h"
#include "tests/runtime/sim_main.h"
#include "tests/runtime/stream_kernels.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t small_scratch = 4096;

Group group_of(int size, size_t scratch_bytes = small_scratch,
               std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  Group group;
  group.size = size;
  group.open = [=](Collectives& host, const device::Stream& stream) {
    NcclOptions options;
    options.scratch_bytes = scratch_bytes;
    options.timeout = timeout;
    return open_nccl_collectives(host, stream_kernels(60), stream, options);
  };
  // a + b = b + a; from three on the fake's order is another one.
  group.rank_order = size <= 2;
  return group;
}

// The fake misbehaves while one of these lives.
struct Misbehaviour {
  explicit Misbehaviour(const char* name) { setenv("HITPROOF_FAKE_NCCL", name, 1); }
  ~Misbehaviour() { unsetenv("HITPROOF_FAKE_NCCL"); }
};

// An operation of which something is lost: what check() says of it, and that every later operation
// says the same, within a few seconds.
std::string loss(const Rank& rank) {
  const auto begin = Clock::now();
  const Buffer data(64 * sizeof(float));
  const auto what = [](auto call) -> std::string {
    try {
      call();
    } catch (const CollectiveError& e) {
      return e.what();
    }
    return {};
  };
  std::string said = what([&] {
    rank.on_device.all_reduce(data.floats(), 64);
    rank.stream.synchronize(); // comes to its end because the work is aborted
    rank.on_device.check();
  });
  const std::string later = what([&] { rank.on_device.all_reduce(data.floats(), 64); });
  if (said != later || Clock::now() - begin > std::chrono::seconds(20)) return "was late";
  return said;
}

Body loses(const std::string& text) {
  return [text](Rank r) {
    const std::string said = loss(r);
    ::usleep(300000); // the peer's own loss, and not the end of this process, is what it is to see
    if (said.find(text) == std::string::npos) std::fprintf(stderr, "said: %s\n", said.c_str());
    return said.find(text) != std::string::npos;
  };
}

TEST(NcclCollectives, TwoRanksAgreeWithSharedMemoryBitForBit) {
  EXPECT_TRUE(on_processes(group_of(2), [](Rank r) { return agrees(r, 3, 60); }));
  EXPECT_TRUE(on_processes(group_of(2, size_t{1} << 18), [](Rank r) { return agrees(r, 4, 40); }));
}

TEST(NcclCollectives, MoreRanksAgreeWithinRoundingAndOneCopies) {
  for (const int size : {1, 3, 4})
    EXPECT_TRUE(on_processes(group_of(size), [](Rank r) { return agrees(r, 5, 40); })) << size;
}

// Rows of every count around the number of ranks, in pieces of the scratch memory and in one.
TEST(NcclCollectives, UnevenRowsAreEveryRanksOwn) {
  for (const int size : {2, 3, 4})
    EXPECT_TRUE(on_processes(group_of(size), [](Rank r) {
      for (int rows = 1; rows <= 3 * r.host.size() + 1; ++rows)
        for (const int cols : {1, 7, 64})
          if (!scatters_and_gathers(r, rows, cols, static_cast<uint32_t>(100 * rows + cols)))
            return false;
      return scatters_and_gathers(r, 301, 200, 9);
    })) << size;
}

TEST(NcclCollectives, LargeOperations) {
  EXPECT_TRUE(on_processes(group_of(2, size_t{1} << 16), [](Rank r) {
    return reduces(r, 700001, 1) && gathers(r, 3000001, 1, 2) &&
           scatters_and_gathers(r, 1793, 512, 3);
  }));
}

TEST(NcclCollectives, ManyOperationsWithoutAWait) {
  for (const int size : {2, 4})
    EXPECT_TRUE(on_processes(group_of(size), many_in_a_row)) << size;
}

// Twice the same schedule: the same bits, also where the order of the sums is not rank order.
TEST(NcclCollectives, TwoRunsAreEqual) {
  EXPECT_TRUE(on_processes(group_of(4), [](Rank r) {
    const auto once = [&] {
      const Buffer data(999 * sizeof(float));
      data.fill(r, values(r.host.rank(), 999, 17));
      r.on_device.all_reduce(data.floats(), 999);
      return Buffer::read(r, data.data, data.bytes);
    };
    return once() == once();
  }));
}

// The control of the comparisons above: a sum over all but one rank's values is noticed.
TEST(NcclCollectives, AWrongSumIsNoticed) {
  for (const int size : {2, 3})
    EXPECT_EQ(statuses(group_of(size),
                       [](Rank r) {
                         auto want = values(r.host.rank(), 50, 1);
                         const Buffer data(50 * sizeof(float));
                         data.fill(r, values(r.host.rank() == 1 ? 7 : r.host.rank(), 50, 1));
                         r.on_device.all_reduce(data.floats(), 50);
                         r.host.all_reduce(want.data(), 50);
                         return same(r, data.floats(), want.data(), 50);
                       }),
              std::vector<int>(static_cast<size_t>(size), 1));
}

TEST(NcclCollectives, APeerThatDiesIsNoticed) {
  EXPECT_EQ(statuses(group_of(2),
                     [](Rank r) {
                       if (r.host.rank() == 1) ::_exit(7);
                       return loses("rank 1 died")(r);
                     }),
            (std::vector<int>{0, 7}));
}

TEST(NcclCollectives, APeerThatGivesUpIsNoticed) {
  EXPECT_TRUE(on_processes(group_of(2), [](Rank r) {
    if (r.host.rank() == 0) return loses("rank 1 gave up")(r);
    ::usleep(200000);
    abort_collectives(r.host);
    ::usleep(500000); // still alive: it is its word that is taken
    return true;
  }));
}

TEST(NcclCollectives, AnErrorOfNcclIsPassedOn) {
  {
    const Misbehaviour remote("remote");
    EXPECT_TRUE(on_processes(
        group_of(2), loses("NCCL reports: remote process exited or there was a network error")));
  }
  const Misbehaviour refuse("refuse");
  EXPECT_TRUE(on_processes(group_of(2), loses("ncclAllReduce: unhandled cuda error")));
}

TEST(NcclCollectives, AnOperationThatNeverEndsIsGivenUp) {
  const Misbehaviour never("never");
  EXPECT_TRUE(on_processes(group_of(2, small_scratch, std::chrono::milliseconds(300)),
                           loses("took longer than 300 ms")));
}

// Peers that look at each other have not died: the operation waits, as long as it may.
TEST(NcclCollectives, ASlowPeerIsWaitedFor) {
  EXPECT_TRUE(on_processes(group_of(2), [](Rank r) {
    if (r.host.rank() == 1) ::usleep(400000);
    return reduces(r, 100, 3);
  }));
}

// The group, with exit status 9 of a rank that was refused for that reason.
Group refused(Group group, const std::string& reason, const std::function<void(int rank)>& before) {
  const Open open = group.open;
  group.open = [=](Collectives& host,
                   const device::Stream& stream) -> std::unique_ptr<Collectives> {
    before(host.rank());
    try {
      open(host, stream);
    } catch (const CollectiveError& e) {
      const bool named = std::string(e.what()).find(reason) != std::string::npos;
      ::usleep(300000);
      ::_exit(named ? 9 : 1);
    }
    ::_exit(1);
  };
  return group;
}

TEST(NcclCollectives, AGroupThatNeverComesTogetherIsGivenUp) {
  const Misbehaviour nowhere("nowhere");
  const Group group = refused(group_of(2, small_scratch, std::chrono::milliseconds(200)),
                              "ncclCommInitRankConfig took longer than 200 ms", [](int) {});
  EXPECT_EQ(statuses(group, [](Rank) { return false; }), (std::vector<int>{9, 9}));
}

TEST(NcclCollectives, RanksWithDifferentVersionsAreRefused) {
  const Group group = refused(group_of(2), "different versions", [](int rank) {
    if (rank == 1) setenv("HITPROOF_FAKE_NCCL", "newer", 1);
  });
  EXPECT_EQ(statuses(group, [](Rank) { return false; }), (std::vector<int>{9, 9}));
}

TEST(NcclCollectives, ARowThatFitsNoScratchIsRefused) {
  EXPECT_TRUE(on_processes(group_of(2), [](Rank r) {
    const Buffer data(size_t{1} << 16);
    try {
      r.on_device.all_gather_rows(data.floats(), 3, 513, data.floats());
    } catch (const CollectiveError&) {
      return true;
    }
    return false;
  }));
}

// In a process of its own, because a library is opened once.
int load_status(const char* variable, const char* value, const char* text) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    setenv(variable, value, 1);
    try {
      nccl::load();
    } catch (const EnvironmentError& e) {
      const bool named = std::string(e.what()).find(text) != std::string::npos;
      if (!named) std::fprintf(stderr, "said: %s\n", e.what());
      ::_exit(named ? 2 : 1);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST(NcclLibrary, WhatCannotBeUsedIsNamedWithARemedy) {
  EXPECT_EQ(load_status("HITPROOF_NCCL", "/no/such/libnccl.so.2", "/no/such/libnccl.so.2"), 2);
  EXPECT_EQ(load_status("HITPROOF_FAKE_NCCL", "old", "2.10.3, needed is 2.18"), 2);
  // A library that is no NCCL.
  EXPECT_EQ(load_status("HITPROOF_NCCL", "libm.so.6", "has no function ncclGetVersion"), 2);
}

TEST(NcclLibrary, PinsWhatTheEnvironmentLeavesOpenAndReadsItBack) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    unsetenv("NCCL_ALGO");
    unsetenv("NCCL_NVLS_ENABLE");
    setenv("NCCL_PROTO", "LL", 1);
    const std::vector<std::pair<std::string, std::string>> want{{"nccl_version", "2.28.9"},
                                                                {"NCCL_ALGO", "Ring"},
                                                                {"NCCL_PROTO", "LL"},
                                                                {"NCCL_NVLS_ENABLE", "0"}};
    ::_exit(nccl::choices(nccl::load()) == want ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

} // namespace
} // namespace hitproof::engine

int main(int argc, char** argv) {
  setenv("HITPROOF_NCCL", HITPROOF_FAKE_NCCL_PATH, 0);
  return hitproof::engine::run_tests_on_sim(argc, argv);
}
