// The figures of an archive. Each says in words what its colours say.
#pragma once

#include "audit/dossier.h"
#include "cli/formats/picture.h"

#include <string>
#include <utility>
#include <vector>

namespace hitproof::cli {

// B and p of each reload by prompt length: the form of the paper's Figure 2.
Picture boundary_figure(const audit::Dossier& dossier);
// Pages saved and loaded by rank and entry, as a heat map.
Picture coverage_figure(const audit::Dossier& dossier);
// Time to first token by length and condition: points by repetition, medians, bars from the least
// to the greatest: the form of the paper's Figure 3. The title names the device and says
// "simulated" where it is.
Picture timings_figure(const audit::Dossier& dossier);
// What happened when, one lane a process and kind.
Picture timeline_figure(const audit::Dossier& dossier);
// The records that prove a finding, in their time; empty for a single record.
Picture witness_figure(const audit::Finding& finding);
// The records of a path in time, over their threads and streams, which the timeline's processes
// name; empty for a single record.
Picture path_figure(const audit::OrderPath& path, const audit::Timeline& timeline);

// Those of an archive that have something to show: name and picture.
std::vector<std::pair<std::string, Picture>> figures_of(const audit::Dossier& dossier);

} // namespace hitproof::cli
