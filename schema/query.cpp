#include "schema/query.h"

#include "schema/sqlite_status.h"

#include <cstring>
#include <sqlite3.h>
#include <utility>

namespace hitproof::schema {

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
  std::string reason = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  if (const int error = db != nullptr ? sqlite3_system_errno(db) : 0;
      (code & 0xff) == SQLITE_IOERR && error != 0) {
    // "disk I/O error" alone does not say that a quota or file-size limit was met.
    kind = Status::from_errno(error, what).code();
    reason += std::string(" (") + std::strerror(error) + ")";
  }
  return Status(kind, what + ": " + reason);
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
    status_ = sqlite_status(db_, code, std::string("query: ") + sqlite3_sql(statement_));
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
