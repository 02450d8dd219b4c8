// Opening a database that a stranger may have made: nothing in it may run, hide or endanger
// anything. Internal to the schema; FORMAT.md, "What a reader refuses", says it for readers.
#pragma once

#include "schema/page_check.h"
#include "schema/status.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>

struct sqlite3;

namespace hitproof::schema {

// What the file's first 100 bytes and the files beside it say.
struct DatabaseFile {
  bool empty = false; // no byte in it: its writer ended before the first table
  bool settled =
      false; // no log beside it and none wanted: nobody writes, nothing is to be recovered
  std::uint64_t bytes = 0;
};
// Errors: not_found, io_error, corruption (no database; its size is not what its header says).
Result<DatabaseFile> look_at_database(const std::string& path);

// Where SQLite is to find `path`, with "immutable" for a settled one that is only read.
std::string database_uri(const std::string& path, bool immutable);

// One open database under guard. Keep it for as long as the handle is used.
class Guard {
 public:
  explicit Guard(std::string path) : path_(std::move(path)) {}

  // To be called before any statement: switches triggers, views, extensions and functions that a
  // schema could misuse off, and limits what one value and one statement may take.
  void configure(sqlite3* db) const;
  // Bounds the work of what follows, until lift(). Beyond it statements end as interrupted.
  void bound(sqlite3* db, std::int64_t steps);
  void lift(sqlite3* db) const;
  // The pages of a settled file were found sound: what SQLite would look for in each page that it
  // takes from the file, again and again, is known not to be there.
  void trust_pages(sqlite3* db) const;

  // Holds every table against records.sql: plain tables, known columns of the known type, no view,
  // trigger or index. Errors: corruption names what does not belong there.
  Status check_tables(sqlite3* db);
  // Every page belongs to one table and can be read, rows are what their tables say: our own check
  // (page_check.h), or SQLite's quick_check where that is not certain. Remembered for settled
  // files, which one program may open several times.
  Status check_pages(sqlite3* db, const DatabaseFile& file);
  // From now on statements only read the tables that check_tables saw, those of recordings that
  // were attached as allowed, and what they make in the temporary database.
  void restrict_to_reading(sqlite3* db);
  // Lets one more file be attached: one that was opened and checked by itself before.
  void allow_attached(const std::string& file);

 private:
  struct Rules;
  Status quick_check(sqlite3* db, const std::string& sql) const;
  std::string path_;
  std::shared_ptr<Rules> rules_; // its address is given to SQLite
  std::set<std::string> tables_;
  std::vector<RootedTable> rooted_;
};

} // namespace hitproof::schema
