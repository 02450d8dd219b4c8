// `hitproof export --format parquet`: the records of many archives as partitions.
#pragma once

#include "cli/command.h"
#include "cli/fleet/fleet_run.h"

#include <string>

namespace hitproof::cli {

// --from, --audit and --strict.
void add_parquet_options(CLI::App& app, FleetOptions& options);

// Writes below `out` and says what was done; the answer is an ExitCode.
int export_parquet(const FleetOptions& options, const std::string& out,
                   const CommonOptions& common);

} // namespace hitproof::cli
