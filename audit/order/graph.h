// Happens-before over the calls of a recording: what must have ended before what, by program order
// of threads, order of streams, events with their lives and across processes, synchronisation,
// completion marks and announced waits. One walk over the calls in the order of their times, linear
// in them but for a queue of those that run; what is kept at any moment is one small clock for each
// thread, stream and event that is alive.
//
// An edge is taken only where it holds whatever the device did. Where two calls overlap, and the
// order in which they took effect shows nowhere, there is none; the same where a call is not known
// to order anything (stream memory operations, kernels that spin on memory, messages between
// processes) and for an event or a stream whose life began unseen under a handle that comes back.
//
//   thread   A call that returned before another one of its thread began comes before it. Between
//            threads nothing follows from time alone.
//   stream   Work is in the order of its enqueueing: calls that returned before others began. What
//            the enqueueing thread knew to be done is done before.
//   event    A record stands behind what its stream was given before. Who synchronises with it,
//            queries it with success or makes a stream wait for it gets what the newest record
//            that had returned before stands for; another record meanwhile, of another stream,
//            makes that uncertain. A handle is one event from its creation or opening to its
//            destruction; an event opened is the one that the newest earlier export of these bytes
//            names.
//   graph    What a stream captures is no call of it. A launch is: its copies stand behind what the
//            stream was given before, and before what it is given after, in no order among
//            themselves. An event that a node records stands for what came before the launch, never
//            for the rest of it or for a step's work; a node that waits for an event orders
//            nothing.
//   step     Its device work is on streams that nobody recorded. An event that its thread records
//            after the step began is taken to stand behind it, as rule order takes it; so is a
//            synchronisation of the device where the process has one; and the step's own end, which
//            is the end of its device work by the record's definition.
#pragma once

#include "audit/order/numbers.h"
#include "audit/order/records.h"

#include <cstdint>
#include <span>
#include <vector>

namespace hitproof::audit::order {

// A record on a path, and the one before it; shared by all paths that go on from here.
struct Hop {
  std::uint32_t record = no_record;
  std::uint32_t length = 1; // records up to here
  const Hop* before = nullptr;
};

struct Answer {
  bool proved = false;
  // Where a path begins: a load's last copy, the first that no path leads on from where there is
  // one; the step of a save. no_record where there is none.
  std::uint32_t source = no_record;
  // From the source to the target where one is proved; else the longest way that was found from the
  // source, without the target. Only of questions that were traced.
  std::vector<std::uint32_t> path;
};

struct Traced {
  std::size_t question = 0;
  std::uint32_t source = no_record; // as a walk answered it
};

struct Answers {
  std::vector<Answer> answers;  // of each question
  std::size_t visited = 0;      // moments: the begin and the end of calls, facts
  std::size_t clock_places = 0; // length of the longest clock
};

// Paths are kept for that many questions of one walk.
inline constexpr std::size_t traced_most = 4;

// Answers every question. With `traced`, at most traced_most of them, also gives their paths, and
// ends once their targets have been reached: then other answers may be missing. `numbered` is of
// these records.
Answers walk(const Records& records, const Numbered& numbered, std::span<const Traced> traced = {});

} // namespace hitproof::audit::order
