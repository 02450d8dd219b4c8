// Prefaulted journal segments, `<dir>/journal/pool/<number>.hpj`, made by the recorder so that a
// writer that needs its next segment renames one instead of making the file itself. Head and tail
// of the pool are counters in the journal's control page, so taking one needs no directory listing.
#pragma once

#include "schema/journal_format.h"
#include "schema/status.h"

#include <cstddef>
#include <string>

namespace hitproof::schema {

class SegmentPool {
 public:
  // Makes the folders and the control page of `<dir>/journal`. Precondition of the rest: it was ok.
  Status open(const std::string& dir, std::size_t segments);
  // Makes segments until `segments` are waiting, or as many were made. A full disk is not an error:
  // writers then try for themselves and count what they lose.
  void fill();
  // Removes the waiting segments and the pool's folder.
  void remove();
  // Records that writers of all processes counted as lost.
  std::uint64_t dropped() const noexcept;
  ~SegmentPool();
  SegmentPool() = default;
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

 private:
  std::string folder_;
  std::size_t target_ = 0;
  ControlPage* control_ = nullptr;
};

} // namespace hitproof::schema
