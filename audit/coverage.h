// What was moved, by rank and entry: the map that shows a hole where an entry was never saved or
// never loaded. As large as ranks times entries, however long the recording.
#pragma once

#include "audit/context.h"
#include "audit/table.h"

#include <string>
#include <vector>

namespace hitproof::audit {

struct CoverageEntry {
  std::int64_t entry = 0;
  std::string name;
  std::int64_t kind = 0; // 0 mla, 1 indexer, 2 state, 3 tail
  std::int64_t transfer_group = 0;
  std::int64_t page_bytes = 0, content_bytes = 0;
  bool transferred = true; // as the model declares it
};

struct CoverageCell {
  std::int64_t rank = 0, entry = 0;
  std::int64_t saved = 0, loaded = 0; // page moves: announced pages that were copied
  std::int64_t failing = 0;           // violations of rule pages about this rank and entry
};

struct Coverage {
  std::vector<std::int64_t> ranks;
  std::vector<CoverageEntry> entries;
  std::vector<CoverageCell> cells; // every rank and entry, by rank, then entry
  Trace trace;                     // gives rank, entry, pages saved and pages loaded
  Table groups;                    // registered entries by group: the cache that was watched
};

// "mla", "indexer", "state", "tail".
const char* entry_kind_name(std::int64_t kind);

Coverage read_coverage(Context& context);

} // namespace hitproof::audit
