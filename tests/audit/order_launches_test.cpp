// What a launched graph records, copies and waits for.
#include "tests/audit/order_calls.h"

#include <gtest/gtest.h>

namespace hitproof::audit::order {
namespace {

using enum What;

// The event of the load's stream is recorded again by a node of a graph that is launched elsewhere:
// who synchronises then waits for that launch, and not for the load.
TEST(OrderLaunches, ALaunchRecordsAnEventAnew) {
  for (const bool by_launch : {false, true}) {
    Recording r;
    r.copy(load, rank, stream);
    r.call(event_create, rank, 0, event);
    r.call(event_record, rank, stream, event);
    r.call(by_launch ? event_record : host_function, rank, other_stream, event).by_graph = true;
    r.call(event_synchronise, rank, 0, event);
    r.step(rank);
    r.read();
    EXPECT_EQ(r.proved(), !by_launch);
  }
}

TEST(OrderLaunches, ALaunchStandsBehindWhatItsStreamWasGivenBefore) {
  for (const std::int64_t launched_on : {stream, other_stream}) {
    Recording r;
    r.copy(load, rank, stream);
    r.call(event_create, rank, 0, event);
    r.call(event_record, rank, launched_on, event).by_graph = true;
    r.call(event_synchronise, rank, 0, event);
    r.step(rank);
    r.read();
    EXPECT_EQ(r.proved(), launched_on == stream);
  }
}

// The rows of one launch have its times. Nothing says whether its node records before the copy or
// after it, also where the call took no time.
TEST(OrderLaunches, WhatALaunchRecordsSaysNothingOfItsOwnCopies) {
  for (const bool takes_time : {true, false}) {
    for (const bool same_launch : {true, false}) {
      Recording r;
      r.call(event_create, rank, 0, event);
      r.call(event_record, rank, stream, event).by_graph = true;
      r.copy(load, rank, stream);
      r.call(event_synchronise, rank, 0, event);
      r.step(rank);
      r.read();
      std::vector<Record>& records = r.records();
      if (!same_launch) std::swap(records[1], records[2]);
      Record& first = records[1];
      if (same_launch) {
        if (!takes_time) first.ended = first.began;
        records[2].began = first.began;
        records[2].ended = first.ended;
      } else {
        std::swap(first.began, records[2].began);
        std::swap(first.ended, records[2].ended);
      }
      EXPECT_EQ(r.proved(), !same_launch) << takes_time;
    }
  }
}

TEST(OrderLaunches, CopiesOfALaunchAreDoneBeforeWhatTheStreamIsGivenAfterIt) {
  Recording r;
  const Record first = r.copy(load, rank, stream);
  Record& second = r.copy(load, rank, stream);
  second.began = first.began;
  second.ended = first.ended;
  r.call(stream_synchronise, rank, stream);
  r.step(rank);
  r.read();
  EXPECT_TRUE(r.proved());
  r.records()[2].stream = other_stream;
  EXPECT_FALSE(r.proved());
}

TEST(OrderLaunches, WhatALaunchRecordsIsNotTheWorkOfAStep) {
  Recording r = save_of_another_process();
  r.records()[2].by_graph = true;
  EXPECT_FALSE(r.proved());
}

TEST(OrderLaunches, AWaitInsideALaunchOrdersNothing) {
  Recording r = save_of_another_process();
  ASSERT_EQ(r.records()[5].what, stream_wait);
  r.records()[5].by_graph = true;
  EXPECT_FALSE(r.proved());
}

} // namespace
} // namespace hitproof::audit::order
