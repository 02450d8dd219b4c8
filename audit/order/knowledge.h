// What is known to be done at a point of the graph: a vector clock over the sources of the
// questions, and for the questions that are traced the shortest way by which it became known.
#pragma once

#include "audit/order/graph.h"

#include <array>
#include <deque>
#include <memory>

namespace hitproof::audit::order {

// Places of a clock are given to sources alone: streams that a load copied on, threads with a step
// whose work is asked about. A copy of it costs a pointer.
using Clock = std::vector<std::uint32_t>;

struct Knowledge {
  std::shared_ptr<const Clock> clock; // null: nothing
  std::array<const Hop*, traced_most> ways{};

  std::uint32_t of(std::uint32_t place) const {
    return clock && place < clock->size() ? (*clock)[place] : 0;
  }
};

// Keeps the hops of a walk.
class Ways {
 public:
  const Hop* start(std::uint32_t record) { return &hops_.emplace_back(Hop{record, 1, nullptr}); }
  const Hop* on(const Hop* before, std::uint32_t record) {
    if (before->record == record) return before;
    return &hops_.emplace_back(Hop{record, before->length + 1, before});
  }

 private:
  std::deque<Hop> hops_;
};

// `into` also knows what `from` knows, by way of the records in `via`.
void learn(Knowledge& into, const Knowledge& from, std::span<const std::uint32_t> via, Ways& ways);

// `into` knows that the `position`-th source of this place is done.
void note(Knowledge& into, std::uint32_t place, std::uint32_t position);

} // namespace hitproof::audit::order
