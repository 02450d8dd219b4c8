// Calls written down by hand, ten nanoseconds each, one after the other unless a time is said, and
// what the graph of order says of them.
#pragma once

#include "audit/order/graph.h"

#include <vector>

namespace hitproof::audit::order {

inline constexpr std::int64_t server = 100, rank = 200; // processes
inline constexpr std::int64_t load = 7, save = 8;
inline constexpr std::int64_t stream = 0x70, other_stream = 0x80, rank_stream = 0x50;
inline constexpr std::int64_t event = 0xe0, other_event = 0xe8;

class Recording {
 public:
  // A call of `process`, on its own thread of the same number.
  Record& call(What what, std::int64_t process, std::int64_t on_stream = 0,
               std::int64_t of_event = 0);
  Record& copy(std::int64_t transfer, std::int64_t process, std::int64_t on_stream);
  // The event becomes known to `to` under the same handle; the bytes are `handle`.
  void pass_on(std::int64_t of_event, std::int64_t from, std::int64_t to, std::uint32_t handle);
  Record& step(std::int64_t process);
  // Asks about the load, read by the newest record.
  void read(std::int64_t transfer = load) { ask(true, transfer); }
  // Asks about the save, whose pages the newest record wrote.
  void wrote(std::int64_t transfer = save) { ask(false, transfer); }

  std::vector<Record>& records() { return records_; }

  Answers answers() const;
  // Of the first question.
  bool proved() const { return answers().answers.at(0).proved; }
  std::vector<What> path() const;

 private:
  void ask(bool is_load, std::int64_t transfer);
  Records sorted() const;

  std::vector<Record> records_;
  std::vector<Asked> asked_;
  std::int64_t now_ = 1000;
};

// A load on the server's stream, its event passed to the rank, which synchronises (or asks, by
// `how`) and reads.
Recording load_of_another_process(What how = What::event_synchronise);

// The rank's step, an event behind it that the server's stream waits for, the save's copy.
Recording save_of_another_process();

// Of the first `records` of a way that is proved, no one but the step that is asked about can be
// left out.
void expect_all_needed(const Recording& way, std::size_t records);

} // namespace hitproof::audit::order
