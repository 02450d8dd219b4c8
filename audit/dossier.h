// Everything that an export shows of one archive: the report, its tables, and what the figures are
// drawn from. Bounded by what is asked for, not by the size of the recording: page tables are
// counted in the database and never read row by row.
#pragma once

#include "audit/audit.h"
#include "audit/coverage.h"
#include "audit/timeline.h"
#include "audit/timings.h"

#include <map>

namespace hitproof::audit {

struct DossierOptions {
  bool refuse_damaged = true;
  std::int64_t slices = 0; // of each kind in the timeline; 0: no timeline is read
  bool coverage = true, timings = true;
};

struct Dossier {
  Report report;
  std::map<std::string, std::string> facts; // of the recording: versions, plan, times
  std::vector<Table> tables;                // in the order of reading
  Coverage coverage;
  Timings timings;
  Timeline timeline;
};

// Errors as audit_archive.
schema::Result<Dossier> make_dossier(const std::string& dir, const DossierOptions& options = {});

} // namespace hitproof::audit
