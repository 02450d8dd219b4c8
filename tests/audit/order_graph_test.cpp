// Loads: each edge of the graph alone; with it a load is proved, without it not.
#include "tests/audit/order_calls.h"

#include <gtest/gtest.h>

namespace hitproof::audit::order {
namespace {

using enum What;

TEST(OrderGraph, ALoadIsProvedByItsEvent) {
  EXPECT_TRUE(load_of_another_process().proved());
  EXPECT_TRUE(load_of_another_process(event_query).proved());
  EXPECT_EQ(
      load_of_another_process().path(),
      (std::vector<What>{copy, event_record, event_export, event_open, event_synchronise, step}));
}

TEST(OrderGraph, NoRecordOfThatWayCanBeLeftOut) { expect_all_needed(load_of_another_process(), 6); }

TEST(OrderGraph, AThreadThatDidNotWaitKnowsNothing) {
  Recording r = load_of_another_process();
  r.records()[5].thread += 1;
  EXPECT_FALSE(r.proved());
  EXPECT_EQ(r.path(),
            (std::vector<What>{copy, event_record, event_export, event_open, event_synchronise}))
      << "as far as it leads";
}

TEST(OrderGraph, AnAnnouncedWaitStandsForASynchronisationOfAnotherThread) {
  Recording r = load_of_another_process();
  const Record synchronised = r.records()[5];
  r.records()[5].thread += 1;
  Record announced = r.records()[5];
  announced.what = wait;
  announced.thread = rank;
  announced.began = synchronised.began - 1;
  announced.ended = synchronised.ended;
  r.records().push_back(announced);
  EXPECT_TRUE(r.proved());
  r.records().back().began = synchronised.began + 1;
  EXPECT_FALSE(r.proved()) << "it began after the synchronisation";
}

TEST(OrderGraph, ACallThatOverlapsTheStepComesNotBefore) {
  Recording r = load_of_another_process();
  r.records()[5].ended = r.records()[6].began + 1;
  EXPECT_FALSE(r.proved());
}

TEST(OrderGraph, ARecordThatHadNotReturnedIsNotWaitedFor) {
  Recording r = load_of_another_process();
  r.records()[2].ended = r.records()[5].began + 1;
  EXPECT_FALSE(r.proved());
}

TEST(OrderGraph, StreamAndDeviceSynchronisation) {
  for (const What how : {stream_synchronise, stream_query, device_synchronise}) {
    for (const bool right : {true, false}) {
      Recording r;
      r.copy(load, rank, stream);
      r.call(host_function, rank, other_stream);
      Record& call = r.call(how, rank, right ? stream : other_stream);
      if (how == device_synchronise && !right) call.device = 1;
      r.step(rank);
      r.read();
      EXPECT_EQ(r.proved(), right) << static_cast<int>(how);
    }
  }
}

TEST(OrderGraph, ADefaultStreamOfSeveralDevicesOrdersNothing) {
  for (const bool several : {false, true}) {
    Recording r;
    r.call(event_create, rank, 0, event).device = several ? 1 : 0;
    r.copy(load, rank, 0);
    r.call(stream_synchronise, rank, 0);
    r.step(rank);
    r.read();
    EXPECT_EQ(r.proved(), !several);
  }
}

TEST(OrderGraph, EveryThreadHasAStreamOfItsOwn) {
  for (const bool same : {true, false}) {
    Recording r;
    r.copy(load, rank, per_thread_stream).thread = same ? rank : rank + 1;
    r.call(stream_synchronise, rank, per_thread_stream);
    r.step(rank);
    r.read();
    EXPECT_EQ(r.proved(), same);
  }
}

// Two events and a second stream.
Recording load_by_way_of_a_second_stream() {
  Recording r;
  r.copy(load, server, stream);
  r.call(event_create, server, 0, other_event);
  r.call(event_record, server, stream, other_event);
  r.call(stream_wait, server, other_stream, other_event);
  r.call(event_create, server, 0, event);
  r.call(event_record, server, other_stream, event);
  r.pass_on(event, server, rank, 1);
  r.call(event_synchronise, rank, 0, event);
  r.step(rank);
  r.read();
  return r;
}

TEST(OrderGraph, AWayOverTwoEventsAndASecondStream) {
  Recording r = load_by_way_of_a_second_stream();
  EXPECT_TRUE(r.proved());
  EXPECT_EQ(r.path().size(), 8U);
  r.records()[3].what = host_function;
  EXPECT_FALSE(r.proved()) << "without the edge in the middle";
  EXPECT_EQ(r.path(), (std::vector<What>{copy, event_record}));
}

TEST(OrderGraph, AllCopiesOfALoadMustBeDone) {
  Recording r;
  r.copy(load, rank, other_stream);
  r.copy(load, rank, stream);
  r.call(stream_synchronise, rank, stream);
  r.step(rank);
  r.read();
  EXPECT_FALSE(r.proved());
  r.records()[0].stream = stream;
  EXPECT_TRUE(r.proved());
  r.copy(load, rank, stream);
  EXPECT_FALSE(r.proved()) << "a copy after the step";
}

TEST(OrderGraph, ACopyThatReturnedIsDoneOnlyWhereTheDriverSaysSo) {
  for (const bool synchronous : {true, false}) {
    Recording r;
    r.copy(load, rank, stream).synchronous = synchronous;
    r.step(rank);
    r.read();
    EXPECT_EQ(r.proved(), synchronous);
  }
}

TEST(OrderGraph, ACompletionMarkIsKnownToItsThread) {
  for (const std::int64_t reader : {server, rank}) {
    Recording r;
    r.copy(load, rank, stream);
    Record& mark = r.call(complete, server);
    mark.transfer = load;
    mark.ended = mark.began;
    r.step(reader);
    r.read();
    EXPECT_EQ(r.proved(), reader == server);
  }
}

} // namespace
} // namespace hitproof::audit::order
