#include "schema/merged_file.h"

#include "schema/recording_impl.h"
#include "schema/sqlite_status.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <sqlite3.h>
#include <unistd.h>

namespace hitproof::schema {
namespace {

constexpr std::int64_t application_id = 0x48504D46; // "HPMF", in the file's header

std::string quoted(const std::string& name) {
  std::string out = "\"";
  for (const char c : name)
    out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

void bind_value(sqlite3_stmt* insert, int place, const std::string& type, const Query& row,
                int column) {
  if (row.is_null(column)) {
    sqlite3_bind_null(insert, place);
  } else if (type == "INTEGER") {
    sqlite3_bind_int64(insert, place, row.integer(column));
  } else if (type == "REAL") {
    sqlite3_bind_double(insert, place, row.real(column));
  } else if (type == "BLOB") {
    const std::string bytes = row.blob(column);
    sqlite3_bind_blob(insert, place, bytes.data(), static_cast<int>(bytes.size()),
                      SQLITE_TRANSIENT);
  } else {
    const std::string text = row.text(column);
    sqlite3_bind_text(insert, place, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
}

} // namespace

struct MergedFile::Impl {
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    inserts.clear();
    sqlite3_close_v2(db);
  }

  Status exec(const std::string& sql) {
    const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? Status() : sqlite_status(db, code, path + ": " + first_words(sql));
  }

  Result<std::int64_t> number(const std::string& sql) {
    Prepared statement;
    if (Status s = statement.prepare(db, sql); !s.ok()) return s;
    const int code = sqlite3_step(statement.get());
    if (code == SQLITE_ROW) return std::int64_t{sqlite3_column_int64(statement.get(), 0)};
    return code == SQLITE_DONE ? Result<std::int64_t>(std::int64_t{0})
                               : sqlite_status(db, code, "read " + path);
  }

  Status check_identity();
  // The statement that inserts these columns, behind the archive's id.
  Result<sqlite3_stmt*> insert_into(const std::string& table,
                                    const std::vector<MergedColumn>& columns);
  Status prepare_table(const std::string& table, const std::vector<MergedColumn>& columns);
  Status step(sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? Status() : sqlite_status(db, code, "write to " + path);
  }

  sqlite3* db = nullptr;
  std::string path;
  std::map<std::string, std::set<std::string>> tables; // columns that are known to be there
  std::map<std::string, Prepared> inserts;             // by table and columns
};

Status MergedFile::Impl::check_identity() {
  const auto tables_there = number("SELECT COUNT(*) FROM sqlite_master");
  if (!tables_there.ok()) {
    if (tables_there.code() == Code::busy) return tables_there.status();
    return Status(Code::invalid_argument, path + ": there already, and no SQLite database; choose "
                                                 "another name for the merged file");
  }
  const auto id = number("PRAGMA application_id");
  const auto version = number("PRAGMA user_version");
  if (!id.ok()) return id.status();
  if (!version.ok()) return version.status();
  if (*tables_there > 0 && *id != application_id)
    return Status(Code::invalid_argument,
                  path + ": there already, and no merged file; choose another name");
  if (*id == application_id && *version > merged_format_version)
    return Status(Code::newer_format, path + ": merged format " + std::to_string(*version) +
                                          " is newer than this program writes (" +
                                          std::to_string(merged_format_version) +
                                          "); use a newer hitproof");
  return {};
}

Result<MergedFile> MergedFile::open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(path.c_str(), &impl->db, flags, nullptr);
  if (code != SQLITE_OK) {
    // SQLite tries to read one instead, and says what came of that.
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
      return Status::from_errno(errno, "write into the folder of " + path);
    return sqlite_status(impl->db, code, "open " + path);
  }
  sqlite3_busy_timeout(impl->db, 2000);
  Status status = impl->check_identity();
  // Nothing is synced before a checkpoint: a killed process loses nothing by that.
  if (status.ok())
    status = impl->exec("PRAGMA page_size = 16384; PRAGMA locking_mode = EXCLUSIVE; PRAGMA "
                        "journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = "
                        "-65536; PRAGMA wal_autocheckpoint = 4096");
  if (status.ok())
    status =
        impl->exec("BEGIN IMMEDIATE; PRAGMA application_id = " + std::to_string(application_id) +
                   "; PRAGMA user_version = " + std::to_string(merged_format_version) + "; COMMIT");
  if (status.code() == Code::busy)
    return Status(Code::busy, path + ": another program is at work on it; wait until it has ended");
  if (!status.ok()) return status;
  return MergedFile(std::move(impl));
}

MergedFile::MergedFile(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
MergedFile::MergedFile(MergedFile&&) noexcept = default;
MergedFile& MergedFile::operator=(MergedFile&&) noexcept = default;
MergedFile::~MergedFile() = default;

Status MergedFile::begin() { return impl_->exec("BEGIN IMMEDIATE"); }
Status MergedFile::commit() { return impl_->exec("COMMIT"); }

void MergedFile::rollback() noexcept {
  impl_->inserts.clear();
  impl_->tables.clear(); // what the transaction had made is gone
  if (sqlite3_get_autocommit(impl_->db) == 0)
    sqlite3_exec(impl_->db, "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<bool> MergedFile::holds(const std::string& table, const std::string& archive) {
  Prepared known;
  if (Status s = known.prepare(impl_->db, "SELECT 1 FROM sqlite_master WHERE name = ?"); !s.ok())
    return s;
  bind_text(known.get(), 1, table);
  if (sqlite3_step(known.get()) != SQLITE_ROW) return false;
  Prepared row;
  if (Status s = row.prepare(impl_->db, "SELECT 1 FROM " + quoted(table) + " WHERE archive = ?");
      !s.ok())
    return s;
  bind_text(row.get(), 1, archive);
  const int code = sqlite3_step(row.get());
  if (code == SQLITE_ROW || code == SQLITE_DONE) return code == SQLITE_ROW;
  return sqlite_status(impl_->db, code, "read " + impl_->path);
}

Status MergedFile::Impl::prepare_table(const std::string& table,
                                       const std::vector<MergedColumn>& columns) {
  std::set<std::string>& there = tables[table];
  if (there.empty()) {
    Prepared info;
    if (Status s = info.prepare(db, "PRAGMA table_info(" + quoted(table) + ")"); !s.ok()) return s;
    while (sqlite3_step(info.get()) == SQLITE_ROW)
      there.insert(reinterpret_cast<const char*>(sqlite3_column_text(info.get(), 1)));
  }
  Status status;
  if (there.empty()) {
    // The index holds an archive's rows together for whoever asks for one of thousands.
    status = exec("CREATE TABLE " + quoted(table) + " (\"archive\" TEXT NOT NULL); CREATE INDEX " +
                  quoted(table + "_archive") + " ON " + quoted(table) + " (\"archive\")");
    there.insert("archive");
  }
  for (const MergedColumn& column : columns) {
    if (!status.ok() || !there.insert(column.name).second) continue;
    status = exec("ALTER TABLE " + quoted(table) + " ADD COLUMN " + quoted(column.name) + " " +
                  column.type);
  }
  if (!status.ok()) tables.erase(table);
  return status;
}

Result<sqlite3_stmt*> MergedFile::Impl::insert_into(const std::string& table,
                                                    const std::vector<MergedColumn>& columns) {
  std::string names = "\"archive\"", marks = "?";
  for (const MergedColumn& column : columns) {
    names += ", " + quoted(column.name);
    marks += ", ?";
  }
  Prepared& insert = inserts[table + ": " + names];
  if (insert.get() == nullptr) {
    Status status = prepare_table(table, columns);
    if (status.ok())
      status = insert.prepare(db, "INSERT INTO " + quoted(table) + " (" + names + ") VALUES (" +
                                      marks + ")");
    if (!status.ok()) return status;
  }
  return insert.get();
}

Result<std::int64_t> MergedFile::add(const std::string& table, const std::string& archive,
                                     const std::vector<MergedColumn>& columns, Query& rows) {
  const auto insert = impl_->insert_into(table, columns);
  if (!insert.ok()) return insert.status();
  std::int64_t count = 0;
  bind_text(*insert, 1, archive);
  while (rows.next()) {
    for (int i = 0; i < static_cast<int>(columns.size()); ++i)
      bind_value(*insert, i + 2, columns[static_cast<std::size_t>(i)].type, rows, i);
    if (Status s = impl_->step(*insert); !s.ok()) return s;
    ++count;
  }
  sqlite3_clear_bindings(*insert);
  if (!rows.status().ok()) return rows.status();
  return count;
}

Status MergedFile::add_row(const std::string& table, const std::string& archive,
                           const std::vector<MergedColumn>& columns,
                           const std::vector<MergedValue>& values) {
  const auto insert = impl_->insert_into(table, columns);
  if (!insert.ok()) return insert.status();
  bind_text(*insert, 1, archive);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int place = static_cast<int>(i) + 2;
    if (const auto* number = std::get_if<std::int64_t>(&values[i]))
      sqlite3_bind_int64(*insert, place, *number);
    else
      bind_text(*insert, place, std::get<std::string>(values[i]));
  }
  Status status = impl_->step(*insert);
  sqlite3_clear_bindings(*insert);
  return status;
}

Status MergedFile::close() {
  impl_->inserts.clear();
  return impl_->exec("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
}

} // namespace hitproof::schema
