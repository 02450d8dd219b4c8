#include "cli/fleet/parquet_sink.h"

#include "cli/fleet/csv_rows.h"
#include "cli/fleet/duckdb_program.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
#include <unistd.h>

namespace hitproof::cli {
namespace {

namespace fs = std::filesystem;
using schema::Code;
using schema::Status;

class ParquetSink : public FleetSink {
 public:
  explicit ParquetSink(std::string dir) : dir_(std::move(dir)), work_(dir_ + "/_work") {}
  ~ParquetSink() override {
    std::error_code error;
    if (lock_ >= 0) fs::remove_all(work_, error);
    if (lock_ >= 0) ::close(lock_);
  }

  Status open() {
    std::error_code error;
    fs::create_directories(dir_, error);
    if (error) return Status::from_errno(error.value(), "make " + dir_);
    lock_ = ::open((dir_ + "/_lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) return Status::from_errno(errno, "create " + dir_ + "/_lock");
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      ::close(lock_);
      lock_ = -1;
      return Status(Code::busy, dir_ + ": another export is at work there; wait for its end");
    }
    if (Status s = write_manifest(); !s.ok()) return s;
    if (Status s = make_work_folder(); !s.ok()) return s;
    return start_duckdb();
  }

  schema::Result<bool> holds(const std::string& id) override {
    return fs::exists(place(fleet_archive_table, id));
  }

  Status begin(const std::string& id) override {
    id_ = id;
    statements_.clear();
    written_.clear();
    return make_work_folder();
  }

  schema::Result<std::int64_t> table(const FleetTable& table, schema::Query& rows) override {
    CsvRows csv(table.columns);
    if (Status s = csv.open(work_ + "/" + table.merged + ".csv"); !s.ok()) return s;
    while (rows.next()) {
      if (Status s = csv.add(rows); !s.ok()) return std::move(s).with_context(table.merged);
    }
    if (!rows.status().ok()) return rows.status();
    if (Status s = csv.close(); !s.ok()) return s;
    if (csv.replaced() > 0)
      std::fprintf(stderr,
                   "hitproof: %s: %lld texts were not UTF-8; Parquet has a replacement "
                   "character there\n",
                   table.merged.c_str(), static_cast<long long>(csv.replaced()));
    add_copy(table.merged, csv);
    return csv.rows();
  }

  Status facts(const FactTable& facts) override {
    std::vector<schema::MergedColumn> columns;
    for (const FactColumn& c : facts.columns)
      columns.push_back({c.name, c.type});
    CsvRows csv(std::move(columns));
    if (Status s = csv.open(work_ + "/" + facts.name + ".csv"); !s.ok()) return s;
    for (const auto& row : facts.rows) {
      if (Status s = csv.add(row); !s.ok()) return s;
    }
    if (Status s = csv.close(); !s.ok()) return s;
    add_copy(facts.name, csv);
    return {};
  }

  // The files are put in their places one by one, fleet_archive's last; a process killed in between
  // leaves files that the next run writes again.
  Status commit() override {
    if (Status s = duckdb_.run(statements_); !s.ok()) return after_failure(s);
    for (const std::string& table : written_) {
      const fs::path to = place(table, id_);
      std::error_code error;
      fs::create_directories(to.parent_path(), error);
      if (!error) fs::rename(work_ + "/" + table + ".parquet", to, error);
      if (error) return Status::from_errno(error.value(), "write " + to.string());
    }
    return {};
  }

  void drop() noexcept override {
    statements_.clear();
    written_.clear();
  }
  Status finish() override { return {}; }

 private:
  fs::path place(const std::string& table, const std::string& id) const {
    return fs::path(dir_) / table / ("archive=" + id) / "part.parquet";
  }

  Status start_duckdb() {
    if (Status s = duckdb_.start(work_ + "/duckdb.log"); !s.ok()) return s;
    // Nothing from the network, and memory within bounds whatever a table holds.
    return duckdb_.run("SET autoinstall_known_extensions = false;\nSET memory_limit = '1GB';\n");
  }

  // An archive that DuckDB cannot write does not end the others; a full disk does.
  Status after_failure(const Status& why) {
    if (why.message().find("No space left") != std::string::npos)
      return Status(Code::no_space, why.message());
    if (Status s = start_duckdb(); !s.ok()) return s;
    return Status(Code::unsupported, why.message());
  }

  Status make_work_folder() {
    std::error_code error;
    const bool keep_log = fs::exists(work_ + "/duckdb.log", error);
    if (!keep_log) fs::remove_all(work_, error);
    for (const auto& item : fs::directory_iterator(work_, error))
      if (item.path().filename() != "duckdb.log") fs::remove_all(item.path(), error);
    error.clear();
    fs::create_directories(work_, error);
    return error ? Status::from_errno(error.value(), "make " + work_) : Status();
  }

  Status write_manifest() const {
    const std::string path = dir_ + "/_hitproof.json", fresh = path + ".new";
    std::ofstream file(fresh, std::ios::binary);
    file << partitions_manifest();
    file.close();
    std::error_code error;
    Status status = file ? Status() : Status::from_errno(errno, "write " + path);
    if (status.ok()) fs::rename(fresh, path, error);
    if (error) status = Status::from_errno(error.value(), "rename " + fresh);
    if (!status.ok()) fs::remove(fresh, error);
    return status;
  }

  void add_copy(const std::string& table, const CsvRows& csv) {
    if (csv.rows() == 0) return;
    statements_ +=
        "COPY (" + csv.select() + ") TO " + sql_text(work_ + "/" + table + ".parquet") +
        " (FORMAT parquet, COMPRESSION zstd, KV_METADATA {hitproof_table: " + sql_text(table) +
        ", hitproof_archive: " + sql_text(id_) +
        ", hitproof_units: " + sql_text(units_json(table)) + "});\n";
    written_.push_back(table);
  }

  std::string dir_, work_, id_, statements_;
  std::vector<std::string> written_;
  DuckDb duckdb_;
  int lock_ = -1;
};

} // namespace

schema::Result<std::unique_ptr<FleetSink>> open_partitions(const std::string& dir) {
  if (dir.find('\n') != std::string::npos) // statements are a line each
    return Status(Code::invalid_argument,
                  "a folder for Parquet files has no line break in its name");
  auto sink = std::make_unique<ParquetSink>(fs::absolute(dir).string());
  if (Status s = sink->open(); !s.ok()) return s;
  return std::unique_ptr<FleetSink>(std::move(sink));
}

} // namespace hitproof::cli
