// What a walk visits and keeps, for recordings that grow.
#include "tests/audit/order_calls.h"

#include <gtest/gtest.h>

namespace hitproof::audit::order {
namespace {

using enum What;

// A long chain of streams and events: one more link, one more record of the path, and no more
// moments than calls have ends.
TEST(OrderGrowth, GrowsWithItsRecords) {
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
TEST(OrderGrowth, StreamsThatAreGoneLeaveTheirPlaces) {
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

TEST(OrderGrowth, ManyTransfersOnOneStreamShareAPlace) {
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
