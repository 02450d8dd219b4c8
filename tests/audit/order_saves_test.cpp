// Saves: the step that wrote the pages comes before the copies that read them.
#include "tests/audit/order_calls.h"

#include <gtest/gtest.h>

namespace hitproof::audit::order {
namespace {

using enum What;

TEST(OrderSaves, ASaveIsProvedByItsProducer) {
  Recording r = save_of_another_process();
  EXPECT_TRUE(r.proved());
  EXPECT_EQ(r.path(),
            (std::vector<What>{step, event_record, event_export, event_open, stream_wait, copy}));
  expect_all_needed(r, 6);
}

TEST(OrderSaves, AnEventRecordedBeforeTheStepIsStale) {
  Recording r = save_of_another_process();
  std::swap(r.records()[1].began, r.records()[2].began);
  std::swap(r.records()[1].ended, r.records()[2].ended);
  r.records()[1].ended = r.records()[1].began;
  EXPECT_FALSE(r.proved());
}

TEST(OrderSaves, AStreamWaitBindsItsStreamAlone) {
  Recording r = save_of_another_process();
  r.records()[5].stream = other_stream;
  EXPECT_FALSE(r.proved());
}

TEST(OrderSaves, SourcesReadInAnyOrderAreBoundByTheThreadAlone) {
  Recording r = save_of_another_process();
  r.records().back().by_host = true;
  EXPECT_FALSE(r.proved());
  r.records()[5].what = event_synchronise;
  EXPECT_TRUE(r.proved());
}

TEST(OrderSaves, AThreadsCallsAreNotItsStepsWork) {
  for (const bool ended : {false, true}) {
    Recording r;
    Record& step = r.step(rank);
    if (ended) step.ended = step.began + 3; // the end of its work is recorded
    r.wrote();
    r.copy(save, rank, stream);
    EXPECT_EQ(r.proved(), ended);
  }
}

TEST(OrderSaves, EveryCopyOfASaveMustBeBehind) {
  Recording r = save_of_another_process();
  r.copy(save, server, other_stream);
  EXPECT_FALSE(r.proved());
}

} // namespace
} // namespace hitproof::audit::order
