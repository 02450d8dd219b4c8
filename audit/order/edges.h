// The calls of a walk as they begin and end: what each of them learns from threads, streams and
// events, and gives to them (graph.h says by which edges). Internal to the graph.
#pragma once

#include "audit/order/questions.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace hitproof::audit::order {

// An event from its creation to its end, wherever it is opened.
struct Life {
  Knowledge recorded;               // what its newest record that returned stands for
  std::uint32_t begun = 0;          // records so far
  std::uint32_t running = 0;        // of these, calls that have not returned
  bool overlapped = false;          // of those that run: which one is newer shows nowhere
  std::uint32_t stream = no_number; // life of a stream, of its first record
  bool several_streams = false;
};

// A call that has begun, with what was known then.
struct Open {
  Knowledge host, from, work;
  std::shared_ptr<Life> life;
  std::uint32_t begun = 0; // records of `life`
  bool running = false;    // a record of it has not returned
  std::uint32_t stream_life = 0, stream_changes = 0;
  std::uint32_t exported = no_record, opened = no_record;
};

class Edges {
 public:
  Edges(const std::vector<Record>& records, const Numbered& numbered, Ways& ways);

  // In the order of time.
  void begin(std::uint32_t record, Open& open, Questions& questions);
  void end(std::uint32_t record, Open& open, Questions& questions);

  // All that is known anywhere at the moment.
  void each_knowledge(const Questions::Use& use) const;

 private:
  // What a handle of a process means at the moment.
  struct Event {
    std::shared_ptr<Life> life; // null: unknown
    std::uint32_t exported = no_record, opened = no_record;
    // The newest synchronisation that ended, for the waits announced around it.
    std::int64_t synchronised = INT64_MIN; // its begin
    Knowledge gained;
  };
  struct Stream {
    Knowledge known;        // what is done before whatever is enqueued next
    std::uint32_t life = 0; // no two lives of any streams have one number
    std::uint32_t changes = 0;
    std::uint32_t place = no_number; // of the load copies on it
    std::int32_t device = -1;
  };
  struct Thread {
    Knowledge host; // what is done when its next call begins
    Knowledge work; // steps whose work it has given to the device
    Counted steps;
  };
  struct Export {
    std::shared_ptr<Life> life;
    std::uint32_t record = no_record;
  };
  // What the completion mark of a transfer stands for.
  struct Copied {
    Knowledge known;
    std::uint32_t life = no_number; // of its stream
    bool several = false;
  };
  using Via = std::span<const std::uint32_t>;

  void begin_record(const Numbers& n, Open& open);
  void begin_waiting(const Numbers& n, Open& open);
  void begin_device(const Record& r, const Numbers& n, Open& open);
  void begin_copy(std::uint32_t record, const Numbers& n, Questions& questions);
  void end_record(Via here, Open& open, Stream* stream);
  void end_copy(std::uint32_t record, const Open& open, Stream* stream, Thread& thread,
                Questions& questions);
  void gain(Knowledge& into, std::uint32_t record, const Open& open);
  void note_copied(const Record& r, const Stream& stream);
  void enqueue(Stream& stream, const Knowledge& known, Via via);
  void renew(std::uint32_t number, Questions& questions);

  const std::vector<Record>& records_;
  const Numbered& numbered_;
  Ways& ways_;
  std::vector<Thread> threads_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  std::vector<std::vector<std::uint32_t>> streams_of_; // by process
  std::unordered_map<std::uint32_t, Export> exports_;  // by handle
  std::unordered_map<std::int64_t, Copied> copied_;    // by transfer
  std::uint32_t lives_ = 0;                            // of streams, so far
};

} // namespace hitproof::audit::order
