// Moves journal records into a recording while their writers still write, and after they died.
//
// A segment is deleted only after its rows are committed; how far each one was read is committed
// with its rows (table journal_file), so a drain that is killed at any moment and started again
// neither loses nor doubles a record. One drain per directory: a second one is refused (busy).
#pragma once

#include "schema/recording.h"
#include "schema/status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace hitproof::schema {

class Drain {
 public:
  // Precondition: `recording` outlives the drain and is open for writing. Makes `<dir>/journal` and
  // keeps `pool_segments` prefaulted segments there (0: none; a recovery needs none).
  Drain(const std::string& dir, Recording& recording, std::size_t pool_segments = 16);
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  // Commits what the journals hold now and refills the pool. Returns the number of records moved;
  // 0 may mean that something went wrong: see status(). Never waits for a writer.
  std::size_t poll();

  // After the writers have ended: moves everything that is left, deletes the segments and the pool,
  // and writes the counts records, dropped, gaps, damaged_slots, live_writers into the recording.
  // Segments of processes that still live are drained but kept, and counted in live_writers().
  Status finish();

  const Status& status() const noexcept;  // first error; it stays
  std::uint64_t records() const noexcept; // moved, by earlier drains of this recording too
  std::uint64_t gaps() const noexcept;    // sequence numbers missing
  std::uint64_t dropped() const noexcept; // counted by the writers
  std::uint64_t live_writers() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// True where `<dir>/journal` holds segments that nobody drained: a recording that was killed.
bool has_leftovers(const std::string& dir);

// Opens a recording for reading after draining what a killed recorder left behind. A recording that
// was closed is opened as it is. One that was not stays closed=0 and gets closed_reason "recovered"
// and the counts. Errors: as open_existing; busy where a recorder is still at work.
Result<Recording> open_recovered(const std::string& dir);

} // namespace hitproof::schema
