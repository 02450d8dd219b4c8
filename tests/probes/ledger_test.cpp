// The byte ledger and the order ledger: the recording says exactly what the subject did.
#include "tests/probes/run_subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::probes_test {
namespace {

using testing::ElementsAreArray;

class CopyLedger : public testing::TestWithParam<const char*> {};

TEST_P(CopyLedger, SaysExactlyWhatMoved) {
  const Recorded r = run({GetParam()});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto expected = r.lines("copy");
  EXPECT_FALSE(expected.empty());
  EXPECT_THAT(copies_of(r), ElementsAreArray(expected));
  EXPECT_EQ(r.gaps, 0u);
  EXPECT_EQ(r.coverage("hooks").dropped, 0u);
}

INSTANTIATE_TEST_SUITE_P(Routes, CopyLedger,
                         testing::Values("runtime_linked", "runtime_batch", "driver_linked",
                                         "registered", "refused", "by_dlsym", "by_dlvsym",
                                         "by_proc_address", "by_entry_point", "once", "captured",
                                         "joined", "built", "runtime_built", "captured_per_thread"),
                         [](const auto& i) { return std::string(i.param); });

class OrderLedger : public testing::TestWithParam<const char*> {};

TEST_P(OrderLedger, SaysExactlyWhatWasOrdered) {
  const Recorded r = run({GetParam()});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(orders_of(r), ElementsAreArray(r.lines("order")));
}

INSTANTIATE_TEST_SUITE_P(Calls, OrderLedger,
                         testing::Values("runtime_order", "memory_operations", "internal_event",
                                         "graph_events"),
                         [](const auto& i) { return std::string(i.param); });

TEST(CopyLedger, RowsOfOneBatchShareTheCall) {
  const Recorded r = run({"runtime_batch"});
  const auto copies = r.all<schema::rec::copy>();
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(copies[0].call_seq, copies[2].call_seq);
  EXPECT_GE(copies[0].end_ns, copies[0].t_ns);
}

TEST(CopyLedger, GraphRowsOfOneLaunchShareTheCallAndLaunchesDiffer) {
  const Recorded r = run({"captured"});
  const auto copies = r.all<schema::rec::copy>();
  ASSERT_EQ(copies.size(), 7u);
  EXPECT_EQ(copies[0].call_seq, copies[1].call_seq);
  EXPECT_NE(copies[1].call_seq, copies[2].call_seq);
  EXPECT_EQ(r.coverage("cudaGraphLaunch").bytes, 900u);
  EXPECT_EQ(r.coverage("graph_nodes").calls, 2u);
}

// An auditor that takes the calls of one launch in the order of their numbers sees every copy
// behind what the launch records and before what it waits for: nothing inside a graph is taken for
// ordered.
TEST(OrderLedger, CopiesOfALaunchStandBetweenItsRecordsAndItsWaits) {
  const Recorded r = run({"graph_events"});
  const auto copies = r.all<schema::rec::copy>();
  ASSERT_EQ(copies.size(), 3u);
  for (const auto& o : r.all<schema::rec::order_op>()) {
    for (const auto& c : copies) {
      if (o.call != c.call || o.t_ns != c.t_ns) continue;
      EXPECT_EQ(o.end_ns, c.end_ns);
      EXPECT_EQ(o.seq < c.seq, o.op == 2) << static_cast<int>(o.op);
    }
  }
}

TEST(OrderLedger, CallsOfAnInternalEventAreCounted) {
  const Recorded r = run({"internal_event"});
  EXPECT_EQ(r.coverage("cudaEventRecord").calls, 2u);
  EXPECT_EQ(r.coverage("cudaStreamWaitEvent").calls, 2u);
}

TEST(OrderLedger, HandlesJoinTwoProcesses) {
  const Recorded r = run({"two_processes"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto child = static_cast<std::uint32_t>(r.fact("child"));
  enum { exported = 12, opened = 13, ipc_export = 6, ipc_open = 7, ipc_close = 8 };
  const auto with = [](const auto& rows, int op) {
    auto found = rows;
    std::erase_if(found, [op](const auto& row) { return row.op != op; });
    return found;
  };
  const auto out = with(r.all<schema::rec::order_op>(r.pid), exported);
  const auto in = with(r.all<schema::rec::order_op>(child), opened);
  ASSERT_EQ(out.size(), 1u);
  ASSERT_EQ(in.size(), 1u);
  EXPECT_EQ(out[0].handle, in[0].handle);
  EXPECT_FALSE(schema::is_zero(in[0].handle));
  EXPECT_NE(in[0].event, 0u);
  const auto given = with(r.all<schema::rec::memory>(r.pid), ipc_export);
  const auto mapped = with(r.all<schema::rec::memory>(child), ipc_open);
  ASSERT_EQ(given.size(), 1u);
  ASSERT_EQ(mapped.size(), 1u);
  EXPECT_EQ(given[0].handle, mapped[0].handle);
  EXPECT_EQ(given[0].bytes, mapped[0].bytes);
  EXPECT_EQ(with(r.all<schema::rec::memory>(child), ipc_close).size(), 1u);
  // The child's copy out of the mapped memory is known to come from a device.
  const auto copies = r.all<schema::rec::copy>(child);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].direction, 0);
  EXPECT_EQ(copies[0].src, mapped[0].address + 100);
}

TEST(AddressMap, RecordsEveryRangeWithItsCall) {
  const Recorded r = run({"registered"});
  const auto names = r.hooks();
  std::vector<std::string> seen;
  for (const auto& m : r.all<schema::rec::memory>()) {
    if (m.op == 4 || m.op == 5) {
      char line[128];
      std::snprintf(line, sizeof line, "memory op%d %p %llu", m.op,
                    reinterpret_cast<void*>(m.address), static_cast<unsigned long long>(m.bytes));
      seen.push_back(line);
    }
    EXPECT_EQ(m.result, 0);
    EXPECT_TRUE(names.count(m.call));
  }
  EXPECT_THAT(seen, ElementsAreArray(r.lines("memory")));
}

TEST(Lookups, UnknownNamesAreNamed) {
  const Recorded r = run({"by_proc_address"});
  EXPECT_GE(r.coverage("lookup:cuDeviceGetName").calls, 1u);
  EXPECT_GE(r.coverage("cuGetProcAddress_v2").calls, 10u);
  EXPECT_GE(r.coverage("cuGetProcAddress").calls, 1u);
  for (const auto& c : r.all<schema::rec::coverage>()) {
    EXPECT_NE(std::string(schema::get_text(c.name)).rfind("path:cuMemcpy", 0), 0u)
        << schema::get_text(c.name);
  }
}

TEST(Coverage, CountsCallsAndBytes) {
  const Recorded r = run({"once"});
  const auto copies = r.coverage("cudaMemcpyAsync");
  EXPECT_EQ(copies.calls, 8u);
  EXPECT_EQ(copies.bytes, 36u);
  EXPECT_EQ(copies.installed, 1u);
  EXPECT_EQ(copies.dropped, 0u);
  EXPECT_EQ(r.coverage("cuMemcpyHtoDAsync_v2").calls, 0u) << "counted twice, at both levels";
}

} // namespace
} // namespace hitproof::probes_test
