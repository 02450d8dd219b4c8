// Each edge of the graph alone: with it a load or a save is proved, without it not. Calls are
// written down by hand, ten nanoseconds each, one after the other unless a time is said.
#include "audit/order/graph.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <tuple>

namespace hitproof::audit::order {
namespace {

constexpr std::int64_t server = 100, rank = 200; // processes
constexpr std::int64_t load = 7, save = 8;
constexpr std::int64_t stream = 0x70, other_stream = 0x80, rank_stream = 0x50;
constexpr std::int64_t event = 0xe0, other_event = 0xe8;

class Recording {
 public:
  // A call of `process`, on its own thread of the same number.
  Record& call(What what, std::int64_t process, std::int64_t on_stream = 0,
               std::int64_t of_event = 0) {
    Record r;
    r.what = what;
    r.process = r.thread = process;
    r.seq = static_cast<std::int64_t>(records_.size()) + 1;
    r.began = now_ + 1;
    r.ended = now_ += 10;
    r.stream = on_stream;
    r.event = of_event;
    r.device = 0;
    records_.push_back(r);
    return records_.back();
  }
  Record& copy(std::int64_t transfer, std::int64_t process, std::int64_t on_stream) {
    Record& r = call(What::copy, process, on_stream);
    r.transfer = transfer;
    r.device = -1;
    return r;
  }
  // The event becomes known to `to` under the same handle; the bytes are `handle`.
  void pass_on(std::int64_t of_event, std::int64_t from, std::int64_t to, std::uint32_t handle) {
    call(What::event_export, from, 0, of_event).handle = handle;
    call(What::event_open, to, 0, of_event).handle = handle;
  }
  Record& step(std::int64_t process) {
    Record& r = call(What::step, process);
    r.ended = r.began; // the work's end is not known
    return r;
  }
  // Asks about the load, read by the newest record.
  void read(std::int64_t transfer = load) { ask(true, transfer); }
  // Asks about the save, whose pages the newest record wrote.
  void wrote(std::int64_t transfer = save) { ask(false, transfer); }

  std::vector<Record>& records() { return records_; }

  Records sorted() const {
    std::vector<std::size_t> order(records_.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::tie(records_[a].began, records_[a].ended) <
             std::tie(records_[b].began, records_[b].ended);
    });
    Records out;
    out.asked = asked_;
    for (std::size_t i = 0; i < order.size(); ++i) {
      out.records.push_back(records_[order[i]]);
      for (std::size_t q = 0; q < asked_.size(); ++q)
        if (asked_[q].step == order[i]) out.asked[q].step = static_cast<std::uint32_t>(i);
    }
    return out;
  }
  Answers answers() const {
    const Records records = sorted();
    return walk(records, numbered(records.records));
  }
  bool proved() const { return answers().answers.at(0).proved; }
  std::vector<What> path() const {
    const Records records = sorted();
    const Numbered numbers = numbered(records.records);
    const Traced traced[] = {{0, walk(records, numbers).answers.at(0).source}};
    std::vector<What> out;
    const Answers found = walk(records, numbers, traced);
    for (const std::uint32_t i : found.answers.at(0).path)
      out.push_back(records.records[i].what);
    return out;
  }

 private:
  void ask(bool is_load, std::int64_t transfer) {
    asked_.push_back({is_load, transfer, 0, 1, static_cast<std::uint32_t>(records_.size() - 1)});
  }

  std::vector<Record> records_;
  std::vector<Asked> asked_;
  std::int64_t now_ = 1000;
};

using enum What;

// A load on the server's stream, its event passed to the rank, which synchronises and reads.
Recording load_of_another_process(What how = event_synchronise) {
  Recording r;
  r.copy(load, server, stream);
  r.call(event_create, server, 0, event);
  r.call(event_record, server, stream, event);
  r.pass_on(event, server, rank, 1);
  r.call(how, rank, 0, event);
  r.step(rank);
  r.read();
  return r;
}

// Of the first `records` of a way that is proved, no one but the step that is asked about can be
// left out.
void expect_all_needed(const Recording& way, std::size_t records) {
  ASSERT_TRUE(way.proved());
  for (std::size_t without = 0; without < records; ++without) {
    Recording cut = way;
    Record& left_out = cut.records()[without];
    if (left_out.what == step) continue;
    left_out.what = write_value; // which orders nothing
    left_out.transfer = 0;
    EXPECT_FALSE(cut.proved()) << "record " << without << " left out";
  }
}

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

TEST(OrderGraph, AnEarlierLifeOfAHandleProvesNothing) {
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

TEST(OrderGraph, AnEventWhoseBeginNobodySawProvesNothing) {
  Recording r = load_of_another_process();
  r.records()[1].what = write_value;
  EXPECT_FALSE(r.proved());
}

TEST(OrderGraph, AStreamMadeAnewIsAnotherOne) {
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

TEST(OrderGraph, BytesOfHandlesComeBack) {
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

TEST(OrderGraph, OfTwoRecordsTheNewerCounts) {
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

TEST(OrderGraph, ARecordMeanwhileOfAnotherStreamIsUncertain) {
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

// The rank's step, an event behind it that the server's stream waits for, the save's copy.
Recording save_of_another_process() {
  Recording r;
  r.call(event_create, rank, 0, event);
  r.step(rank);
  r.wrote();
  r.call(event_record, rank, rank_stream, event);
  r.pass_on(event, rank, server, 1);
  r.call(stream_wait, server, stream, event);
  r.copy(save, server, stream);
  return r;
}

TEST(OrderGraph, ASaveIsProvedByItsProducer) {
  Recording r = save_of_another_process();
  EXPECT_TRUE(r.proved());
  EXPECT_EQ(r.path(),
            (std::vector<What>{step, event_record, event_export, event_open, stream_wait, copy}));
  expect_all_needed(r, 6);
}

TEST(OrderGraph, AnEventRecordedBeforeTheStepIsStale) {
  Recording r = save_of_another_process();
  std::swap(r.records()[1].began, r.records()[2].began);
  std::swap(r.records()[1].ended, r.records()[2].ended);
  r.records()[1].ended = r.records()[1].began;
  EXPECT_FALSE(r.proved());
}

TEST(OrderGraph, AStreamWaitBindsItsStreamAlone) {
  Recording r = save_of_another_process();
  r.records()[5].stream = other_stream;
  EXPECT_FALSE(r.proved());
}

TEST(OrderGraph, SourcesReadInAnyOrderAreBoundByTheThreadAlone) {
  Recording r = save_of_another_process();
  r.records().back().by_host = true;
  EXPECT_FALSE(r.proved());
  r.records()[5].what = event_synchronise;
  EXPECT_TRUE(r.proved());
}

TEST(OrderGraph, AThreadsCallsAreNotItsStepsWork) {
  for (const bool ended : {false, true}) {
    Recording r;
    Record& step = r.step(rank);
    if (ended) step.ended = step.began + 3; // the end of its work is recorded
    r.wrote();
    r.copy(save, rank, stream);
    EXPECT_EQ(r.proved(), ended);
  }
}

TEST(OrderGraph, EveryCopyOfASaveMustBeBehind) {
  Recording r = save_of_another_process();
  r.copy(save, server, other_stream);
  EXPECT_FALSE(r.proved());
}

// The event of the load's stream is recorded again by a node of a graph that is launched elsewhere:
// who synchronises then waits for that launch, and not for the load.
TEST(OrderGraph, ALaunchRecordsAnEventAnew) {
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

TEST(OrderGraph, ALaunchStandsBehindWhatItsStreamWasGivenBefore) {
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
TEST(OrderGraph, WhatALaunchRecordsSaysNothingOfItsOwnCopies) {
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

TEST(OrderGraph, CopiesOfALaunchAreDoneBeforeWhatTheStreamIsGivenAfterIt) {
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

TEST(OrderGraph, WhatALaunchRecordsIsNotTheWorkOfAStep) {
  Recording r = save_of_another_process();
  r.records()[2].by_graph = true;
  EXPECT_FALSE(r.proved());
}

TEST(OrderGraph, AWaitInsideALaunchOrdersNothing) {
  Recording r = save_of_another_process();
  ASSERT_EQ(r.records()[5].what, stream_wait);
  r.records()[5].by_graph = true;
  EXPECT_FALSE(r.proved());
}

// A long chain of streams and events: one more link, one more record of the path, and no more
// moments than calls have ends.
TEST(OrderGraph, GrowsWithItsRecords) {
  std::size_t last = 0, places = 0;
  for (const std::int64_t links : {100, 200, 400, 800}) {
    Recording r;
    r.copy(load, server, 1000);
    for (std::int64_t i = 0; i < links; ++i) {
      r.call(event_create, server, 0, 5000 + i);
      r.call(event_record, server, 1000 + i, 5000 + i);
      r.call(stream_wait, server, 1001 + i, 5000 + i);
    }
    r.call(stream_synchronise, server, 1000 + links);
    r.step(server);
    r.read();
    const Answers found = r.answers();
    EXPECT_TRUE(found.answers[0].proved);
    EXPECT_EQ(r.path().size(), static_cast<std::size_t>(2 * links + 3));
    EXPECT_LE(found.visited, 2 * r.records().size());
    if (last != 0) {
      EXPECT_LE(found.visited, 2 * last + 10);
      EXPECT_EQ(found.clock_places, places) << "a clock has places for sources alone";
    }
    last = found.visited;
    places = found.clock_places;
  }
}

// Streams that are made anew for every load: the clocks do not grow, and nobody takes one for
// another.
TEST(OrderGraph, StreamsThatAreGoneLeaveTheirPlaces) {
  for (const bool waited : {true, false}) {
    Recording r;
    for (std::int64_t i = 0; i < 300; ++i) {
      r.call(stream_create, server, stream);
      r.copy(1000 + i, server, stream);
      if (waited || i % 2 == 0) r.call(stream_synchronise, server, stream);
      r.call(stream_destroy, server, stream);
      r.step(server);
      r.read(1000 + i);
    }
    const Answers found = r.answers();
    EXPECT_LE(found.clock_places, 2U);
    for (std::size_t i = 0; i < found.answers.size(); ++i)
      EXPECT_EQ(found.answers[i].proved, waited || i % 2 == 0) << i;
  }
}

TEST(OrderGraph, ManyTransfersOnOneStreamShareAPlace) {
  Recording r;
  for (std::int64_t i = 0; i < 500; ++i) {
    r.copy(1000 + i, server, stream);
    r.call(stream_synchronise, server, stream);
    r.step(server);
    r.read(1000 + i);
  }
  const Answers found = r.answers();
  EXPECT_EQ(found.clock_places, 1U);
  for (const Answer& a : found.answers)
    EXPECT_TRUE(a.proved);
}

} // namespace
} // namespace hitproof::audit::order
