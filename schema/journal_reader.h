// Reads one journal segment, whole or while its writer still appends. Records come in the order of
// their sequence numbers; a missing number is a gap (a record that its writer had to drop).
#pragma once

#include "schema/journal_format.h"
#include "schema/status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hitproof::schema {

class JournalReader {
 public:
  // Maps the file. Errors: not_found; incomplete (taken by a writer that has not filled in its
  // header yet: try again); corruption (no journal, or cut short); newer_format.
  static Result<JournalReader> open(const std::string& path);

  JournalReader(JournalReader&& other) noexcept;
  JournalReader& operator=(JournalReader&& other) noexcept;
  ~JournalReader();

  // The next record, or null where the writer has not written one (yet): may be called again. The
  // pointer is valid as long as the reader.
  const Slot* next() noexcept;
  bool waiting() const noexcept; // next() has something to read

  // Continues at slot `index` instead of 0, with `last_seq` as the last number seen.
  void seek(std::uint32_t index, std::uint32_t last_seq) noexcept;

  const SegmentHeader& header() const noexcept { return *header_; }
  std::uint32_t position() const noexcept { return position_; } // slots read so far
  std::uint32_t last_seq() const noexcept { return last_seq_; }
  std::uint64_t gaps() const noexcept { return gaps_; } // sequence numbers missing so far
  // Slots whose sequence number does not rise: the file was changed. Such slots are not returned.
  std::uint64_t damaged() const noexcept { return damaged_; }
  std::uint64_t dropped() const noexcept; // as the writer counted them
  bool finished() const noexcept;         // the writer has left the segment
  bool exhausted() const noexcept;        // finished or full, and every record was returned

 private:
  JournalReader(void* map, std::size_t bytes) noexcept;
  bool written_beyond(std::uint32_t index) const noexcept;

  void* map_ = nullptr;
  std::size_t bytes_ = 0;
  const SegmentHeader* header_ = nullptr;
  const Slot* slots_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t position_ = 0;
  std::uint32_t last_seq_ = 0;
  std::uint64_t gaps_ = 0;
  std::uint64_t damaged_ = 0;
};

// Paths of the segments in `<dir>/journal`, by process, thread and number. A directory without
// journals gives an empty list.
Result<std::vector<std::string>> list_segments(const std::string& dir);

} // namespace hitproof::schema
