// How far every journal segment was drained: table journal_file, kept in memory and written in the
// same transactions as the rows it speaks of. Internal to the drain.
#pragma once

#include "schema/recording.h"

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace hitproof::schema {

class DrainState {
 public:
  struct Key {
    std::uint32_t pid;
    std::uint32_t tid;
    std::uint32_t segment;
    std::uint64_t start_ns;
    auto operator<=>(const Key&) const = default;
  };
  struct Progress {
    std::uint32_t slots = 0; // read so far
    std::uint32_t last_seq = 0;
    std::uint64_t records = 0;
    std::uint64_t gaps = 0;
    std::uint64_t damaged = 0;
    std::uint64_t dropped = 0;
  };

  // Reads the table: what is committed.
  Status load(Recording& recording);
  // Of a segment not seen before: nothing read, last_seq that of the thread's earlier segments.
  Progress progress(const Key& key) const;
  // The thread number of the rows: the journal's own, but where an earlier journal of another life
  // of the process (before an exec, or of a process that had the same id) has that one, a higher
  // one, so that process, thread and sequence number name one row.
  std::uint32_t thread_number(const Key& key);
  // Precondition: inside a transaction.
  Status store(Recording& recording, const Key& key, const Progress& progress);

  // Sums over all segments.
  std::uint64_t records() const noexcept { return records_; }
  std::uint64_t gaps() const noexcept { return gaps_; }
  std::uint64_t damaged() const noexcept { return damaged_; }
  // Sum over threads of the last count, or what the recording states already if that is more.
  std::uint64_t dropped() const noexcept;

 private:
  struct Thread {
    std::uint32_t pid;
    std::uint32_t tid;
    std::uint64_t start_ns;
    auto operator<=>(const Thread&) const = default;
  };
  void note(const Key& key, const Progress& progress);
  std::uint32_t number_of(const Thread& thread);

  std::map<Key, Progress> segments_;
  std::map<Thread, Progress> threads_;                      // last_seq and dropped of the thread
  std::map<Thread, std::uint32_t> numbers_;                 // given out so far
  std::set<std::pair<std::uint32_t, std::uint32_t>> taken_; // pid and number
  std::uint64_t records_ = 0;
  std::uint64_t gaps_ = 0;
  std::uint64_t damaged_ = 0;
  std::uint64_t stated_dropped_ = 0;
};

} // namespace hitproof::schema
