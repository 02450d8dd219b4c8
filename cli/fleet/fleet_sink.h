// Where the archives of a fleet go: one merged file, or partitions of Parquet files. An archive is
// there wholly or not at all.
#pragma once

#include "cli/fleet/fleet_archive.h"

#include <memory>
#include <string>

namespace hitproof::cli {

class FleetSink {
 public:
  virtual ~FleetSink() = default;

  // Whether the archive is there already.
  virtual schema::Result<bool> holds(const std::string& id) = 0;
  virtual schema::Status begin(const std::string& id) = 0;
  // Adds every row of a table of the archive that was begun; says how many there were.
  virtual schema::Result<std::int64_t> table(const FleetTable& table, schema::Query& rows) = 0;
  virtual schema::Status facts(const FactTable& facts) = 0;
  virtual schema::Status commit() = 0;
  // Forgets what begin() began.
  virtual void drop() noexcept = 0;
  // After the last archive.
  virtual schema::Status finish() = 0;
};

// Errors: those of MergedFile::open.
schema::Result<std::unique_ptr<FleetSink>> open_merged_file(const std::string& path);

} // namespace hitproof::cli
