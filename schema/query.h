// One prepared SQL statement of a recording, read row by row:
//
//   auto q = recording.query("SELECT rank, COUNT(*) FROM wait WHERE kind = ? GROUP BY rank");
//   q->bind(1, 0);
//   while (q->next()) use(q->integer(0), q->integer(1));
//   if (!q->status().ok()) ...
#pragma once

#include "schema/sha256.h"
#include "schema/status.h"

#include <cstdint>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace hitproof::schema {

class Query {
 public:
  Query(Query&& other) noexcept;
  Query& operator=(Query&& other) noexcept;
  ~Query();

  // Parameters count from 1; a wrong index shows in status().
  Query& bind(int index, std::int64_t value);
  Query& bind(int index, std::string_view value);
  Query& bind(int index, const Digest& value);

  // Moves to the next row; false at the end or on an error (then status() is not ok).
  bool next();
  const Status& status() const noexcept { return status_; }
  // Starts again from the first row, bindings kept.
  void reset();

  // Columns count from 0 and are converted as SQLite converts; valid after next() returned true.
  int columns() const noexcept;
  std::string column_name(int column) const;
  bool is_null(int column) const noexcept;
  bool is_blob(int column) const noexcept;
  std::int64_t integer(int column) const noexcept;
  double real(int column) const noexcept;
  std::string text(int column) const;
  std::string blob(int column) const;
  // All zero where the column is not a blob of 32 bytes.
  Digest digest(int column) const noexcept;

 private:
  friend class Recording;
  Query(sqlite3* db, sqlite3_stmt* statement) noexcept : db_(db), statement_(statement) {}
  void note(int code);
  sqlite3* db_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  Status status_;
};

} // namespace hitproof::schema
