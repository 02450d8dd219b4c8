// The way of all records about pages and tails into the journal.
#pragma once

#include "probes/coverage.h"
#include "probes/intercept.h"
#include "schema/records.h"

namespace hitproof::probes {

// True where HITPROOF_FORCE_DROP wants this one lost.
bool drops_page_record() noexcept;

// Appends a record about a page or a tail; what is lost is counted. HITPROOF_FORCE_DROP=N loses
// every Nth on purpose, as a full disk would: its sequence number stays missing.
template <class R> void put_page_record(const R& record, std::uint64_t t_ns) noexcept {
  schema::JournalWriter* writer = schema::JournalWriter::for_this_thread();
  if (writer != nullptr && drops_page_record()) {
    writer->lose();
    count_dropped(Counter::page_records);
  } else if (writer != nullptr && writer->append(record, t_ns)) {
    count(Counter::page_records);
  } else {
    count_dropped(Counter::page_records);
  }
}

} // namespace hitproof::probes
