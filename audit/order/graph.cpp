#include "audit/order/graph.h"

#include "audit/order/edges.h"

#include <queue>

namespace hitproof::audit::order {
namespace {

// A call that has begun, by its end: at any moment there are few of them.
struct Running {
  std::int64_t ended = 0;
  std::uint32_t record = no_record;
  std::uint32_t place = 0; // of its Open

  // The next to end is the greatest. Of two that return at once, the one that began later is the
  // inner one.
  bool operator<(const Running& other) const {
    return ended != other.ended ? ended > other.ended : record < other.record;
  }
};

class Walk {
 public:
  Walk(const Records& records, const Numbered& numbered, std::span<const Traced> traced)
      : records_(records.records), tracing_(!traced.empty()), edges_(records_, numbered, ways_),
        questions_(records, traced, ways_,
                   [this](const Questions::Use& use) { edges_.each_knowledge(use); }) {}

  // Records are in the order of their begins; at one time ends come first, for what ended comes
  // before what begins, then facts, which are both at once.
  Answers answers() {
    for (std::uint32_t i = 0; i < records_.size() && !over(); ++i) {
      while (!running_.empty() && running_.top().ended <= records_[i].began && !over())
        end_next();
      if (!over()) begin(i);
    }
    while (!running_.empty() && !over())
      end_next();
    Answers out = questions_.answers();
    out.visited = visited_;
    return out;
  }

 private:
  bool over() const { return tracing_ && questions_.all_closed(); }

  void begin(std::uint32_t i) {
    ++visited_;
    if (records_[i].ended <= records_[i].began) {
      Open fact;
      edges_.begin(i, fact, questions_);
      edges_.end(i, fact, questions_);
      return;
    }
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(open_.size()));
      open_.emplace_back();
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    edges_.begin(i, open_[place], questions_);
    running_.push({records_[i].ended, i, place});
  }

  void end_next() {
    ++visited_;
    const Running next = running_.top();
    running_.pop();
    edges_.end(next.record, open_[next.place], questions_);
    open_[next.place] = {};
    free_.push_back(next.place);
  }

  const std::vector<Record>& records_;
  const bool tracing_;
  Ways ways_;
  Edges edges_;
  Questions questions_;
  std::priority_queue<Running> running_;
  std::vector<Open> open_;
  std::vector<std::uint32_t> free_; // places in it
  std::size_t visited_ = 0;
};

} // namespace

Answers walk(const Records& records, const Numbered& numbered, std::span<const Traced> traced) {
  return Walk(records, numbered, traced).answers();
}

} // namespace hitproof::audit::order
