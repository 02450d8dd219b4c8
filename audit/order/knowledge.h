// What is known to be done at a point of the graph: a vector clock over the sources of the
// questions, and for the questions that are traced the shortest way by which it became known.
#pragma once

#include "audit/order/graph.h"

#include <array>
#include <deque>
#include <utility>

namespace hitproof::audit::order {

// A vector clock that is shared and never changes. Places are given to sources alone: streams that
// a load copied on, threads with a step whose work is asked about. Within one thread of a program:
// its uses are counted without a lock, for a copy is made at every call.
class Clock {
 public:
  Clock() = default;
  explicit Clock(std::vector<std::uint32_t> places) : held_(new Held{std::move(places), 1}) {}
  Clock(const Clock& other) : held_(other.held_) {
    if (held_ != nullptr) ++held_->uses;
  }
  Clock(Clock&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  Clock& operator=(Clock other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~Clock() {
    if (held_ != nullptr && --held_->uses == 0) delete held_;
  }

  bool operator==(const Clock& other) const { return held_ == other.held_; }
  explicit operator bool() const { return held_ != nullptr; }
  const std::vector<std::uint32_t>& places() const { return held_->places; }

 private:
  struct Held {
    std::vector<std::uint32_t> places;
    std::size_t uses;
  };
  Held* held_ = nullptr; // null: nothing is known
};

struct Knowledge {
  Clock clock;
  std::array<const Hop*, traced_most> ways{};

  std::uint32_t of(std::uint32_t place) const {
    return clock && place < clock.places().size() ? clock.places()[place] : 0;
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
