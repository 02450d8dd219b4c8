#include "schema/recording.h"

#include "schema/clock.h"
#include "schema/page_digest.h"
#include "schema/recording_impl.h"
#include "schema/sqlite_status.h"

#include <chrono>
#include <filesystem>

namespace hitproof::schema {

Status Prepared::prepare(sqlite3* db, const std::string& sql) {
  if (statement_ != nullptr) return {};
  const int code = sqlite3_prepare_v3(db, sql.c_str(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  return code == SQLITE_OK ? Status() : sqlite_status(db, code, "prepare " + first_words(sql));
}

Recording::Impl::~Impl() {
  // Statements are members declared after the handle; with close_v2 the order does not matter.
  sqlite3_close_v2(db);
}

Status Recording::Impl::open_handle(const std::string& name, int flags) {
  // One thread at a time by contract; without the mutex an insert takes a tenth less.
  const int code = sqlite3_open_v2(name.c_str(), &db, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) return sqlite_status(db, code, "open " + path);
  sqlite3_busy_timeout(db, 5000);
  return {};
}

Status Recording::Impl::create(const std::string& file) {
  path = file;
  return open_handle(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

Status Recording::Impl::open(const std::string& file, Access access, PageCheck check) {
  path = file;
  const bool reading = access == Access::read_only;
  const Result<DatabaseFile> found = look_at_database(path);
  if (!found.ok()) return found.status();
  const int mode = reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  Status status =
      open_handle(database_uri(path, reading && found->settled), mode | SQLITE_OPEN_URI);
  if (!status.ok()) return status;
  guard = std::make_unique<Guard>(path);
  // Its definitions first, on which every statement depends; then its pages, in proportion to them.
  guard->bound(db, 1'000'000);
  guard->configure(db);
  status = check_version();
  if (status.ok()) status = guard->check_tables(db);
  if (status.ok() && reading) {
    guard->bound(db, 10'000'000 + 4 * static_cast<std::int64_t>(found->bytes));
    settled = found->settled;
    if (check == PageCheck::first) {
      status = guard->check_pages(db, *found);
      if (status.ok() && settled) guard->trust_pages(db);
    }
    guard->restrict_to_reading(db);
  }
  if (!reading || check == PageCheck::first) guard->lift(db);
  return status;
}

Status Recording::Impl::exec(const std::string& sql) {
  const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : sqlite_status(db, code, path + ": " + first_words(sql));
}

Status Recording::Impl::run(sqlite3_stmt* statement) {
  int code = sqlite3_step(statement);
  if (code == SQLITE_DONE || code == SQLITE_ROW) code = SQLITE_OK;
  Status status;
  if (code != SQLITE_OK) status = sqlite_status(db, code, "write to " + path);
  sqlite3_reset(statement);
  return status;
}

Status Recording::Impl::check_version() {
  Prepared query;
  Status status = query.prepare(db, "SELECT value FROM recording WHERE key = 'format_version'");
  if (status.code() == Code::invalid_argument) {
    // Tables come in one transaction: a database without any is one whose writer was killed before
    // it.
    Prepared tables;
    if (Status s = tables.prepare(db, "SELECT COUNT(*) FROM sqlite_master"); !s.ok())
      return Status(Code::corruption, s.message());
    if (sqlite3_step(tables.get()) == SQLITE_ROW && sqlite3_column_int64(tables.get(), 0) == 0)
      return Status(Code::incomplete,
                    path +
                        ": the recording had only begun when its writer ended; it holds nothing");
    return Status(Code::corruption, path + ": a database, but not a Hitproof recording");
  }
  if (!status.ok()) return std::move(status).with_context("read " + path);
  const int code = sqlite3_step(query.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) return sqlite_status(db, code, "read " + path);
  const std::int64_t version = code == SQLITE_ROW ? sqlite3_column_int64(query.get(), 0) : 0;
  if (version < 1)
    return Status(Code::corruption, path + ": the recording names no format version");
  if (version > recording_format_version)
    return Status(Code::newer_format, path + ": recording format " + std::to_string(version) +
                                          " is newer than this program reads (" +
                                          std::to_string(recording_format_version) +
                                          "); use a newer hitproof");
  return {};
}

Result<Recording> Recording::open_new(const std::string& dir) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(dir + "/data", error);
  if (error) return Status::from_errno(error.value(), "make " + dir + "/data");
  const std::string path = dir + "/data/recording.sqlite";
  if (fs::exists(path, error))
    return Status(Code::invalid_argument,
                  path +
                      " exists already; recordings are never overwritten: choose another folder");
  auto impl = std::make_unique<Impl>();
  Status status = impl->create(path);
  // Bigger pages, because rows are a few hundred bytes and arrive in order. Nothing is synced to
  // the disk before checkpoint(): a killed process loses nothing by that, and waiting for the disk
  // halves the rate. A power cut in the middle of a recording may damage it; check_integrity()
  // shows that.
  if (status.ok())
    status =
        impl->exec("PRAGMA page_size=16384; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                   "PRAGMA wal_autocheckpoint=4096; PRAGMA cache_size=-65536;");
  if (status.ok()) status = impl->exec("BEGIN IMMEDIATE;" + records_sql() + "COMMIT;");
  if (!status.ok()) return status;
  Recording recording(std::move(impl));
  const auto unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  status = recording.begin();
  if (status.ok()) status = recording.put("format_version", recording_format_version);
  if (status.ok()) status = recording.put("page_digest", page_digest_name);
  if (status.ok()) status = recording.put("started_ns", static_cast<std::int64_t>(now()));
  if (status.ok()) status = recording.put("started_unix_ns", unix_ns);
  if (status.ok()) status = recording.put("closed", 0);
  if (status.ok()) status = recording.put("closed_reason", "");
  if (status.ok()) status = recording.commit();
  if (!status.ok()) return status;
  return recording;
}

Result<Recording> Recording::open_existing(const std::string& dir, Access access, PageCheck check) {
  return open_file(dir + "/data/recording.sqlite", access, check);
}

Result<Recording> Recording::open_file(const std::string& path, Access access, PageCheck check) {
  std::error_code error;
  const bool there = std::filesystem::is_regular_file(path, error);
  if (error == std::errc::permission_denied)
    return Status::from_errno(error.value(), "open " + path);
  if (!there) return Status(Code::not_found, path + ": no recording there");
  auto impl = std::make_unique<Impl>();
  Status status = impl->open(path, access, check);
  if (status.ok() && access == Access::read_write)
    status = impl->exec("PRAGMA synchronous=OFF; PRAGMA cache_size=-65536;");
  if (status.ok() && access == Access::read_write) status = impl->complete_tables();
  if (!status.ok()) return status;
  return Recording(std::move(impl));
}

Recording::Recording(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

const std::string& Recording::path() const noexcept { return impl_->path; }

Status Recording::begin() { return impl_->exec("BEGIN IMMEDIATE"); }
Status Recording::commit() { return impl_->exec("COMMIT"); }
Status Recording::rollback() { return impl_->exec("ROLLBACK"); }
Status Recording::attach(const std::string& file, const std::string& name, PageCheck check) {
  const auto other = open_file(file, Access::read_only, check);
  if (!other.ok()) return other.status();
  if (impl_->guard != nullptr) impl_->guard->allow_attached(file);
  // One setting holds for all files of a connection.
  impl_->settled = impl_->settled && other->impl_->settled;
  if (!impl_->settled) static_cast<void>(impl_->exec("PRAGMA cell_size_check = ON"));
  std::string quoted;
  for (const char c : file)
    quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return impl_->exec("ATTACH '" + quoted + "' AS " + name);
}

void Recording::pages_are_sound() {
  if (impl_->guard == nullptr) return;
  impl_->guard->lift(impl_->db);
  if (impl_->settled) impl_->guard->trust_pages(impl_->db);
}

Status Recording::execute(std::string_view sql) { return impl_->exec(std::string(sql)); }

Result<Query> Recording::query(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(impl_->db, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK)
    return sqlite_status(impl_->db, code, impl_->path + ": " + first_words(sql));
  if (statement == nullptr) return Status(Code::invalid_argument, "an empty query");
  return Query(impl_->db, statement);
}

Result<std::int64_t> Recording::count(std::string_view table, std::string_view where) {
  std::string sql = "SELECT COUNT(*) FROM \"" + std::string(table) + "\"";
  if (!where.empty()) sql += " WHERE " + std::string(where);
  Result<Query> found = query(sql);
  if (!found.ok()) return found.status();
  if (!found->next()) return found->status();
  return found->integer(0);
}

Status Recording::close(std::string_view reason) {
  Status status = begin();
  if (status.ok()) status = put("closed", 1);
  if (status.ok()) status = put("closed_reason", reason);
  if (status.ok()) status = put("ended_ns", static_cast<std::int64_t>(now()));
  if (status.ok()) status = commit();
  if (!status.ok()) return status;
  return checkpoint();
}

Status Recording::checkpoint() {
  Status status = impl_->exec("PRAGMA synchronous=FULL; PRAGMA wal_checkpoint(TRUNCATE)");
  if (!status.ok()) return status;
  Result<Query> mode = query("PRAGMA journal_mode=DELETE");
  if (!mode.ok()) return mode.status();
  if (!mode->next() && !mode->status().ok())
    return Status(mode->status()).with_context("fold the write-ahead log into " + impl_->path);
  if (mode->text(0) != "delete")
    return Status(Code::busy, impl_->path + ": another program still reads the recording, so its "
                                            "write-ahead log cannot be folded in");
  return {};
}

bool Recording::closed() { return get_int("closed", 0) == 1; }
std::string Recording::closed_reason() { return get_or("closed_reason", ""); }

Status Recording::check_integrity() {
  Result<Query> check = query("PRAGMA integrity_check(1)");
  if (!check.ok()) return check.status();
  if (!check->next()) return check->status();
  const std::string answer = check->text(0);
  if (answer == "ok") return {};
  return Status(Code::corruption, impl_->path + ": " + answer);
}

} // namespace hitproof::schema
