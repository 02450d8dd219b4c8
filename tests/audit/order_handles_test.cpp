// Which event, stream and record a handle stands for at a time.
#include "tests/audit/order_calls.h"

#include <gtest/gtest.h>

namespace hitproof::audit::order {
namespace {

using enum What;

TEST(OrderHandles, AnEarlierLifeOfAHandleProvesNothing) {
  Recording r;
  r.copy(load, rank, stream);
  r.call(event_create, rank, 0, event);
  r.call(event_record, rank, stream, event);
  r.call(event_destroy, rank, 0, event);
  r.call(event_create, rank, 0, event);
  r.call(event_synchronise, rank, 0, event);
  r.step(rank);
  r.read();
  EXPECT_FALSE(r.proved());
  r.records()[3].what = r.records()[4].what = write_value;
  EXPECT_TRUE(r.proved());
}

TEST(OrderHandles, AnEventWhoseBeginNobodySawProvesNothing) {
  Recording r = load_of_another_process();
  r.records()[1].what = write_value;
  EXPECT_FALSE(r.proved());
}

TEST(OrderHandles, AStreamMadeAnewIsAnotherOne) {
  for (const bool anew : {false, true}) {
    Recording r;
    r.copy(load, rank, stream);
    r.call(anew ? stream_destroy : host_function, rank, stream);
    r.call(anew ? stream_create : host_function, rank, stream);
    r.call(stream_synchronise, rank, stream);
    r.step(rank);
    r.read();
    EXPECT_EQ(r.proved(), !anew);
  }
}

TEST(OrderHandles, BytesOfHandlesComeBack) {
  Recording r;
  r.copy(load, server, stream);
  r.call(event_create, server, 0, event);
  r.call(event_record, server, stream, event);
  r.call(event_export, server, 0, event).handle = 1;
  // Another event with the same bytes, exported later: it is the one that is opened.
  r.call(event_create, server, 0, other_event);
  r.call(event_export, server, 0, other_event).handle = 1;
  r.call(event_open, rank, 0, event).handle = 1;
  r.call(event_synchronise, rank, 0, event);
  r.step(rank);
  r.read();
  EXPECT_FALSE(r.proved());
  r.records()[5].handle = 2;
  EXPECT_TRUE(r.proved());
}

TEST(OrderHandles, OfTwoRecordsTheNewerCounts) {
  for (const std::int64_t newer : {stream, other_stream}) {
    Recording r;
    r.copy(load, rank, stream);
    r.call(event_create, rank, 0, event);
    r.call(event_record, rank, stream, event);
    r.call(event_record, rank, newer, event);
    r.call(event_synchronise, rank, 0, event);
    r.step(rank);
    r.read();
    EXPECT_EQ(r.proved(), newer == stream);
  }
}

TEST(OrderHandles, ARecordMeanwhileOfAnotherStreamIsUncertain) {
  for (const std::int64_t meanwhile : {stream, other_stream}) {
    Recording r;
    r.copy(load, rank, stream);
    r.call(event_create, rank, 0, event);
    r.call(event_record, rank, stream, event);
    const Record synchronised = r.call(event_synchronise, rank, 0, event);
    Record& again = r.call(event_record, rank, meanwhile, event);
    again.thread += 1;
    again.began = synchronised.began + 2;
    again.ended = synchronised.began + 4;
    r.step(rank);
    r.read();
    EXPECT_EQ(r.proved(), meanwhile == stream);
  }
}

} // namespace
} // namespace hitproof::audit::order
