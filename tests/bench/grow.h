// A large, valid recording out of a small one: the traffic of a closed archive (requests, steps,
// transfers, pages, copies, order operations, waits and the study around them) is repeated with
// further ids, times, generations, host objects, digests and sequence numbers, in the recording and
// in its control arm alike. What a process writes once (registrations, hooks, counters) stays
// single. A rule that passes on the small archive passes on the large one.
#pragma once

#include "schema/status.h"

#include <cstdint>
#include <string>

namespace hitproof::bench {

// Rows of records in one recording, by what they cost an auditor.
struct Rows {
  std::int64_t page = 0;   // with digests or many addresses: page_digest, page_compare,
                           // page_poison, transfer_page, tail_read
  std::int64_t narrow = 0; // all others
  std::int64_t all() const { return page + narrow; }
};

// Of the recording and, where there is one, the control arm, together.
schema::Result<Rows> count_rows(const std::string& dir);

// Writes to `target` (which must not exist) the archive in `source` with its traffic `times` times,
// and closes it. Errors: those of the file system and of SQLite as io_error.
schema::Status grow_archive(const std::string& source, const std::string& target, int times);

} // namespace hitproof::bench
