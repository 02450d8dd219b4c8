#include "cli/fleet/export_parquet.h"

#include "cli/fleet/duckdb_program.h"
#include "cli/fleet/parquet_sink.h"
#include "cli/output.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace hitproof::cli {

void add_parquet_options(CLI::App& app, FleetOptions& options) {
  app.add_option("--from", options.list, "parquet: a file with one folder a line; - reads stdin")
      ->type_name("LIST");
  app.add_flag("--audit", options.audit,
               "parquet: audit each archive and keep its verdicts beside the records");
  app.add_flag("--strict", options.strict,
               "parquet: stop at the first archive that is damaged or cannot be read");
}

int export_parquet(const FleetOptions& options, const std::string& out,
                   const CommonOptions& common) {
  if (options.dirs.empty() && options.list.empty()) {
    complain("export needs archives", "name their folders, or a list of them with --from");
    return exit_usage;
  }
  if (out.empty()) {
    complain("format parquet writes a folder of files", "name it with --out");
    return exit_usage;
  }
  auto sink = open_partitions(out);
  if (!sink.ok()) {
    complain(sink.status().message(), sink.code() == schema::Code::unsupported
                                          ? duckdb_remedy
                                          : "choose a folder that can be written with --out");
    return exit_usage;
  }
  FleetSummary summary;
  FleetOptions with_paths = options;
  with_paths.paths = true; // who judges the partitions again has no graph
  const schema::Status status = take_fleet(with_paths, **sink, summary);
  if (!status.ok())
    complain(status.message(), "what was exported before is there; remove the cause and run the "
                               "same command again: it goes on where it stopped");
  if (common.json) {
    std::cout << fleet_json(summary, out);
  } else {
    const bool whole = summary.exit_code == exit_pass && status.ok();
    make_output(Format::text, std::cout, common.color)
        ->verdict((whole ? "EXPORTED: " : "INCOMPLETE: ") + fleet_sentence(summary),
                  "python3 audit/fleet/audit_fleet.py " + out);
  }
  return status.ok() ? summary.exit_code : exit_usage;
}

} // namespace hitproof::cli
