// One archive of a fleet: verified, opened for reading, named by an id that its bytes determine,
// and with the facts that its tables do not hold.
#pragma once

#include "audit/report.h"
#include "schema/merged_file.h"
#include "schema/recording.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hitproof::cli {

// A table of a recording as it is there; columns in the order of their definition.
struct FleetTable {
  std::string name;   // in the recording
  bool control;       // of the control arm
  std::string merged; // name in a fleet: "transfer", "reference_transfer"
  std::vector<schema::MergedColumn> columns;
};

// Rows about an archive that no table of its recording holds.
struct FactColumn {
  std::string name, type, unit, meaning;
};
struct FactTable {
  std::string name, says;
  std::vector<FactColumn> columns;
  std::vector<std::vector<schema::MergedValue>> rows;
};

inline constexpr const char* fleet_archive_table = "fleet_archive";

class FleetArchive {
 public:
  // Verifies `dir` and opens it. Errors: corruption (damaged, or tables that no fleet can hold),
  // incomplete (never closed: no id), newer_format, not_found, io_error.
  static schema::Result<FleetArchive> open(const std::string& dir);

  const std::string& dir() const noexcept { return dir_; }
  // "hp" and the first 16 hexadecimal digits of the SHA-256 of the tag manifest.
  const std::string& id() const noexcept { return id_; }
  // Every table of the recording and of its control arm.
  const std::vector<FleetTable>& tables() const noexcept { return tables_; }
  // All rows, the columns as in the table. Errors: corruption where a value is not of its column's
  // type; those of Recording::query.
  schema::Result<schema::Query> rows(const FleetTable& table);

  // What fleet_archive and the other tables say, given how many rows each table had. The report is
  // null where nobody audited, and then `without_path` has the transfers that no path of calls
  // proves, or is null where nobody walked.
  std::vector<FactTable> facts(const std::vector<std::int64_t>& rows, const audit::Report* report,
                               const std::vector<std::int64_t>* without_path);

 private:
  schema::Status list_tables(bool control);
  schema::Status unfit(const std::string& name) const;
  schema::Status check_types(const FleetTable& table);
  std::vector<schema::MergedValue> archive_row(std::int64_t rows, const audit::Report* report,
                                               bool walked);
  schema::Recording& arm(bool control) { return control ? *control_ : *recording_; }

  std::string dir_, id_, tag_manifest_;
  std::optional<schema::Recording> recording_, control_;
  std::vector<FleetTable> tables_;
  std::vector<std::vector<schema::MergedValue>> problems_;
};

// The fact tables without rows: what they say and the meaning of their columns.
const std::vector<FactTable>& fact_tables();

// The id of the archive in `dir`, without verifying anything. Errors: not_found, io_error.
schema::Result<std::string> fleet_id(const std::string& dir);

} // namespace hitproof::cli
