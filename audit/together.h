// Several archives in one set of tables: a row or a column for each of them, in the given order.
// Nothing is pooled but the points of the timing figure, and these only of declared repetitions.
#pragma once

#include "audit/dossier.h"

#include <string>
#include <vector>

namespace hitproof::audit {

struct TogetherOptions {
  std::vector<std::string> names; // of the archives, as tables and legends show them
  // The archives are declared to repeat one another.
  bool repetitions = false;
};

// Tables and timings of all members; the report says what they have in common and holds no rules.
// Errors: invalid_argument where declared repetitions have different plans, arms, lookups, devices
// or presets, or are the same recording twice; those of opening an archive.
schema::Result<Dossier> put_together(const std::vector<Dossier>& members,
                                     const TogetherOptions& options);

} // namespace hitproof::audit
