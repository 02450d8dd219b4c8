// The inside of Recording, shared by its translation units.
#pragma once

#include "schema/record_table.h"
#include "schema/recording.h"
#include "schema/recording_guard.h"

#include <array>
#include <set>
#include <sqlite3.h>
#include <string>

namespace hitproof::schema {

// A statement prepared at its first use and finalized with the recording.
class Prepared {
 public:
  Prepared() = default;
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared() { sqlite3_finalize(statement_); }
  Status prepare(sqlite3* db, const std::string& sql);
  sqlite3_stmt* get() const noexcept { return statement_; }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

struct Recording::Impl {
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  Status create(const std::string& file);
  // Under guard: recording_guard.h.
  Status open(const std::string& file, Access access, PageCheck check);
  Status open_handle(const std::string& name, int flags);
  Status check_version();
  Status exec(const std::string& sql);
  // Runs a bound statement that returns no rows, and makes it ready for the next use.
  Status run(sqlite3_stmt* statement);
  Status prepare_insert(const RecordInfo& record);
  // Empty where there is no such table.
  Status columns_of(const char* table, std::set<std::string>* columns);
  // Adds the tables and columns that a recording of an earlier program lacks.
  Status complete_tables();

  sqlite3* db = nullptr;
  std::string path;
  std::unique_ptr<Guard> guard;
  bool settled = false; // nobody writes to the file
  std::array<Prepared, 256> inserts;
  Prepared put_fact;
  Prepared put_operation;
  Prepared put_token;
  Prepared put_exclusion;
  Prepared put_exit;
};

// Binds a text or digest that outlives the step.
inline void bind_text(sqlite3_stmt* statement, int index, std::string_view text) {
  sqlite3_bind_text(statement, index, text.data() != nullptr ? text.data() : "",
                    static_cast<int>(text.size()), SQLITE_STATIC);
}
inline void bind_digest(sqlite3_stmt* statement, int index, const Digest& digest) {
  sqlite3_bind_blob(statement, index, digest.data(), static_cast<int>(digest.size()),
                    SQLITE_STATIC);
}

} // namespace hitproof::schema
