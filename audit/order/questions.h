// What a walk is asked: where in the clocks the sources of the questions are counted, what was
// known when their targets came, and the ways of those that are traced. Internal to the graph.
#pragma once

#include "audit/order/knowledge.h"
#include "audit/order/numbers.h"

#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

namespace hitproof::audit::order {

// Where a thread's steps, or a stream's copies, are counted; no_number where none was asked about.
struct Counted {
  std::uint32_t place = no_number, position = 0;
};

class Questions {
 public:
  using Use = std::function<void(const Knowledge&)>;
  // `everything` shows all that is known anywhere at the moment. The ways are kept in `ways`.
  Questions(const Records& records, std::span<const Traced> traced, Ways& ways,
            std::function<void(const Use&)> everything);

  // A step begins on a thread that knows `host`. True where what it writes is asked about; then
  // `work` of the thread knows of it.
  bool step_begins(std::uint32_t step, const Knowledge& host, Counted& thread, Knowledge& work);

  bool is_of_a_save(const Record& copy) const { return saves_.contains(copy.transfer); }
  // A copy of a save begins, and `before` is done.
  void save_copy_begins(std::uint32_t copy, const Knowledge& before);

  // A copy was given to the life of a stream that counts at `stream`, or, where that is null, to
  // one that no clock can count. What the stream knows, knows of it.
  void copy_ends(std::uint32_t copy, std::uint32_t* stream, Knowledge* known);
  // The life of a stream that counts at `place` is over.
  void stream_ends(std::uint32_t place);

  // Whether all targets of what is traced have come.
  bool all_closed() const;
  Answers answers() const;

 private:
  struct Done {
    std::uint32_t record = no_record, position = 0;
  };
  // The copies of an asked load; the last of each place.
  struct Load {
    std::map<std::uint32_t, Done> places;
    std::uint32_t last = no_record;
    bool elsewhere = false;         // a copy that no clock can count
    std::uint32_t unread = 0;       // questions whose step has not begun
    bool read = false;              // one has
    std::uint32_t late = no_record; // a copy after such a step
  };
  // A place of the clocks that was given to a life of a stream. When that is over and nobody will
  // ask about its loads, another one goes on counting there: whoever knows the old ones does not
  // know more.
  struct Place {
    std::uint32_t position = 0;
    std::uint32_t unread = 0; // loads
    bool over = false;
  };

  void read(std::uint32_t question, const Knowledge& known);
  void close_at(std::uint32_t question, const Knowledge& known, std::uint32_t target);
  void keep_longest(std::size_t traced);
  std::uint32_t place_for_a_stream();
  void give_back(std::uint32_t place);

  const std::vector<Record>& records_;
  const std::vector<Asked>& asked_;
  const std::vector<Traced> traced_;
  Ways& ways_;
  const std::function<void(const Use&)> everything_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> steps_; // questions by step
  std::unordered_map<std::int64_t, Load> loads_;                        // by transfer
  std::unordered_map<std::int64_t, std::uint32_t> saves_;               // questions by transfer
  std::vector<Answer> answers_;                                         // of loads
  std::map<std::uint32_t, Place> stream_places_;
  std::vector<std::uint32_t> free_;           // places
  std::vector<Counted> producers_;            // of saves
  std::vector<bool> missed_;                  // saves with a copy that is not behind
  std::vector<std::uint32_t> left_;           // copies of saves still to come
  std::vector<const Hop*> longest_, reached_; // by place in traced_
  std::vector<bool> closed_;
  std::uint32_t places_ = 0;
};

} // namespace hitproof::audit::order
