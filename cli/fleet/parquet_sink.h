// A fleet as folders of Parquet files, laid out as Spark and DuckDB find partitions:
//
//   DIR/<table>/archive=<id>/part.parquet     one archive's rows of one table; none where no rows
//   DIR/reference_<table>/archive=<id>/...    the same of its control arm
//   DIR/fleet_archive/archive=<id>/...        written last: where it is, the archive is whole
//   DIR/_hitproof.json                        tables, columns with units, and the rules
//
// DuckDB writes the files; 64-bit numbers are signed with the recording's bits, digests are binary.
#pragma once

#include "cli/fleet/fleet_sink.h"

namespace hitproof::cli {

// Errors: unsupported (no DuckDB: the message says how to get it), busy (another export writes
// there), io_error.
schema::Result<std::unique_ptr<FleetSink>> open_partitions(const std::string& dir);

// The text of _hitproof.json: what a reader of the partitions needs to know beside them.
std::string partitions_manifest();

// Of a column of `table`, for the files' metadata: {"base": "address", ...}.
std::string units_json(const std::string& table);

} // namespace hitproof::cli
