#include "schema/query.h"

#include "schema/sqlite_status.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sqlite3.h>
#include <utility>

namespace hitproof::schema {

namespace {

constexpr std::size_t longest_path = 512; // SQLite's MAX_PATHNAME on unix

// What the system said of the file that a statement failed on, 0 where nobody knows. A connection
// keeps it for statements that stop on the way, and not for a commit; the files themselves, the
// database and its journal or log, keep it always.
int system_error(sqlite3* db) {
  int error = sqlite3_system_errno(db);
  sqlite3_file* journal = nullptr;
  if (error == 0) sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
  if (error == 0) sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal);
  if (journal != nullptr && journal->pMethods != nullptr)
    journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &error);
  return error;
}

} // namespace

std::string first_words(std::string_view sql) {
  constexpr std::size_t most = 160;
  std::string words(sql.substr(0, most));
  std::replace(words.begin(), words.end(), '\n', ' ');
  return sql.size() > most ? words + " ..." : words;
}

Status sqlite_status(sqlite3* db, int code, const std::string& what) {
  Code kind = Code::io_error;
  switch (code & 0xff) {
  case SQLITE_FULL:
    kind = Code::no_space;
    break;
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
  case SQLITE_TOOBIG:    // a value beyond what recordings hold
  case SQLITE_INTERRUPT: // a look at the file went on beyond any recording
    kind = Code::corruption;
    break;
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    kind = Code::busy;
    break;
  case SQLITE_NOMEM:
  case SQLITE_PERM:
  case SQLITE_READONLY:
    kind = Code::refused;
    break;
  case SQLITE_ERROR:
  case SQLITE_RANGE:
  case SQLITE_CONSTRAINT:
  case SQLITE_MISMATCH:
  case SQLITE_AUTH:
    kind = Code::invalid_argument;
    break;
  default:
    break;
  }
  const std::string said =
      what + ": " + (db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code));
  if (db == nullptr || ((code & 0xff) != SQLITE_IOERR && (code & 0xff) != SQLITE_CANTOPEN))
    return Status(kind, said);
  // "disk I/O error" alone does not say that a quota or a limit was met.
  const int whole_code = sqlite3_extended_errcode(db);
  if (whole_code == SQLITE_IOERR_NOMEM) return Status(Code::refused, said + ": out of memory");
  const int error = system_error(db);
  // A file that cannot be opened may be whole; that it is not there was looked at before. SQLite
  // also means a path that is too long for it.
  if ((code & 0xff) == SQLITE_CANTOPEN && (error == 0 || error == ENOENT))
    return Status(Code::refused, said + (what.size() > longest_path
                                             ? "; SQLite opens no path of more than " +
                                                   std::to_string(longest_path) +
                                                   " bytes: move the folder nearer to the root"
                                             : ""));
  if (error != 0) return Status::from_errno(error, said);
  return Status(kind, said + " (SQLite's code " + std::to_string(whole_code) + ")");
}

Query::Query(Query&& other) noexcept { *this = std::move(other); }

Query& Query::operator=(Query&& other) noexcept {
  if (this == &other) return *this;
  sqlite3_finalize(statement_);
  db_ = other.db_;
  statement_ = std::exchange(other.statement_, nullptr);
  status_ = std::move(other.status_);
  return *this;
}

Query::~Query() { sqlite3_finalize(statement_); }

void Query::note(int code) {
  if (code != SQLITE_OK && status_.ok())
    status_ = sqlite_status(db_, code, "query: " + first_words(sqlite3_sql(statement_)));
}

Query& Query::bind(int index, std::int64_t value) {
  note(sqlite3_bind_int64(statement_, index, value));
  return *this;
}

Query& Query::bind(int index, std::string_view value) {
  note(sqlite3_bind_text(statement_, index, value.data(), static_cast<int>(value.size()),
                         SQLITE_TRANSIENT));
  return *this;
}

Query& Query::bind(int index, const Digest& value) {
  note(sqlite3_bind_blob(statement_, index, value.data(), static_cast<int>(value.size()),
                         SQLITE_TRANSIENT));
  return *this;
}

bool Query::next() {
  if (!status_.ok()) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) note(code);
  return false;
}

void Query::reset() { sqlite3_reset(statement_); }

int Query::columns() const noexcept { return sqlite3_column_count(statement_); }

std::string Query::column_name(int column) const {
  const char* name = sqlite3_column_name(statement_, column);
  return name != nullptr ? name : "";
}

bool Query::is_null(int column) const noexcept {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

bool Query::is_blob(int column) const noexcept {
  return sqlite3_column_type(statement_, column) == SQLITE_BLOB;
}

std::int64_t Query::integer(int column) const noexcept {
  return sqlite3_column_int64(statement_, column);
}

double Query::real(int column) const noexcept { return sqlite3_column_double(statement_, column); }

std::string Query::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string Query::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Digest Query::digest(int column) const noexcept {
  Digest digest{};
  const void* bytes = sqlite3_column_blob(statement_, column);
  if (bytes != nullptr && is_blob(column) && sqlite3_column_bytes(statement_, column) == 32)
    std::memcpy(digest.data(), bytes, digest.size());
  return digest;
}

} // namespace hitproof::schema
