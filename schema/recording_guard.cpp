#include "schema/recording_guard.h"

#include "schema/plain_file.h"
#include "schema/record_table.h"
#include "schema/sqlite_status.h"
#include "schema/table_text.h"

#include <filesystem>
#include <mutex>
#include <sqlite3.h>
#include <sys/stat.h>
#include <tuple>

namespace hitproof::schema {
namespace fs = std::filesystem;

namespace {

constexpr int steps_between_looks = 1000;
constexpr int most_tables = 1000;
// Facts, names and messages of a recording are far below it.
constexpr int most_bytes_of_a_value = 16 << 20;

struct Statement {
  sqlite3_stmt* handle = nullptr;
  ~Statement() { sqlite3_finalize(handle); }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle, column));
    return bytes != nullptr ? bytes : "";
  }
};

Status damaged(const std::string& path, const std::string& why) {
  return Status(Code::corruption, path + ": " + why);
}

// Trouble in reading what lies on the disk: by far the most of SQLite's codes mean damage here.
Status reading_failed(sqlite3* db, int code, const std::string& path) {
  if (code == SQLITE_INTERRUPT)
    return damaged(path, "reading it takes more steps than any recording of its size");
  const Status status = sqlite_status(db, code, path);
  if (status.code() == Code::invalid_argument) return Status(Code::corruption, status.message());
  return status;
}

const std::vector<TableText>& known_tables() {
  static const std::vector<TableText> tables = parse_tables(records_sql()).value();
  return tables;
}

const TableText* known_table(const std::string& name) {
  for (const TableText& table : known_tables())
    if (table.name == name) return &table;
  return nullptr;
}

// Empty, or how `found` differs from what records.sql says of it. A column that was added to an
// older recording has no type.
std::string difference(const TableText& known, const TableText& found) {
  if (known.without_rowid != found.without_rowid) return "it is kept in another way";
  for (const ColumnText& column : known.columns) {
    const ColumnText* same = found.find(column.name);
    if (same == nullptr) {
      if (column.key != 0) return "its key lacks " + column.name;
      continue;
    }
    if (same->key != column.key) return "its key is another one at " + column.name;
    if (!same->type.empty() && same->type != column.type)
      return column.name + " is " + same->type + " instead of " + column.type;
  }
  for (const ColumnText& column : found.columns)
    if (column.key != 0 && known.find(column.name) == nullptr)
      return "its key has " + column.name + " as well";
  return "";
}

std::uint32_t big_endian(const std::string& bytes, std::size_t at, int count) {
  std::uint32_t value = 0;
  for (int i = 0; i < count; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return value;
}

int stop_where_spent(void* left) { return --*static_cast<std::int64_t*>(left) < 0; }

} // namespace

Result<DatabaseFile> look_at_database(const std::string& path) {
  std::string head;
  Status status = read_plain_file(path, [&](const unsigned char* data, std::size_t bytes) {
    head.append(reinterpret_cast<const char*>(data), bytes);
    return head.size() < 100;
  });
  if (!status.ok()) return status;
  DatabaseFile file;
  std::error_code error;
  file.bytes = fs::file_size(path, error);
  if (error) return Status::from_errno(error.value(), "look at " + path);
  file.empty = head.empty();
  if (file.empty) return file;
  if (head.size() < 100 || !head.starts_with(std::string("SQLite format 3\0", 16)))
    return damaged(path, "is not an SQLite database");
  const std::uint32_t page = big_endian(head, 16, 2);
  const std::uint64_t page_bytes = page == 1 ? 65536 : page;
  if (page_bytes < 512 || (page_bytes & (page_bytes - 1)) != 0)
    return damaged(path, "its header names no possible page size");
  if (big_endian(head, 56, 4) > 1) return damaged(path, "its text is not UTF-8");
  const bool logged = fs::exists(path + "-wal", error) || fs::exists(path + "-journal", error);
  file.settled = !logged && head[18] == 1 && head[19] == 1;
  const std::uint64_t counted = big_endian(head, 28, 4) * page_bytes;
  if (file.settled && counted != file.bytes)
    return damaged(path, "has " + std::to_string(file.bytes) + " bytes, its header counts " +
                             std::to_string(counted));
  return file;
}

std::string database_uri(const std::string& path, bool immutable) {
  static constexpr char hex[] = "0123456789ABCDEF";
  std::string uri = "file://";
  std::error_code error;
  for (const char c : fs::absolute(path, error).string()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    if (plain)
      uri += c;
    else
      (uri += '%') += {hex[byte >> 4], hex[byte & 15]};
  }
  return immutable ? uri + "?immutable=1" : uri;
}

void Guard::configure(sqlite3* db) const {
  for (const auto& [option, on] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                   {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                   {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                   {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                   {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
                                   {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}})
    sqlite3_db_config(db, option, on, nullptr);
  for (const auto& [limit, most] : {std::pair{SQLITE_LIMIT_LENGTH, most_bytes_of_a_value},
                                    {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
                                    {SQLITE_LIMIT_COLUMN, 256},
                                    {SQLITE_LIMIT_EXPR_DEPTH, 200},
                                    {SQLITE_LIMIT_VDBE_OP, 100'000},
                                    {SQLITE_LIMIT_ATTACHED, 3},
                                    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                                    {SQLITE_LIMIT_WORKER_THREADS, 0}})
    sqlite3_limit(db, limit, most);
  sqlite3_exec(db, "PRAGMA cell_size_check = ON", nullptr, nullptr, nullptr);
}

struct Guard::Rules {
  std::int64_t looks_left = 0;
  std::set<std::string> attachable; // files that were checked
  std::set<std::string> tables;

  static int authorize(void* self, int action, const char* first, const char* second,
                       const char* database, const char* trigger);
  bool allows(int action, const std::string& first, const std::string& second,
              const std::string& database) const;
};

int Guard::Rules::authorize(void* self, int action, const char* first, const char* second,
                            const char* database, const char*) {
  const auto text = [](const char* t) { return std::string(t != nullptr ? t : ""); };
  const bool allowed =
      static_cast<const Rules*>(self)->allows(action, text(first), text(second), text(database));
  return allowed ? SQLITE_OK : SQLITE_DENY;
}

bool Guard::Rules::allows(int action, const std::string& first, const std::string& second,
                          const std::string& database) const {
  static const std::set<std::string> pragmas = {"temp_store",      "cache_size",     "mmap_size",
                                                "cell_size_check", "table_info",     "table_xinfo",
                                                "quick_check",     "integrity_check"};
  switch (action) {
  case SQLITE_SELECT:
  case SQLITE_RECURSIVE:
  case SQLITE_TRANSACTION:
  case SQLITE_SAVEPOINT:
  case SQLITE_DETACH:
  case SQLITE_CREATE_TEMP_TABLE:
  case SQLITE_CREATE_TEMP_INDEX:
  case SQLITE_CREATE_TEMP_VIEW:
  case SQLITE_DROP_TEMP_TABLE:
  case SQLITE_DROP_TEMP_INDEX:
  case SQLITE_DROP_TEMP_VIEW:
    return true;
  case SQLITE_FUNCTION:
    return second != "load_extension" && second != "fts3_tokenizer";
  case SQLITE_INSERT:
  case SQLITE_UPDATE:
  case SQLITE_DELETE:
  case SQLITE_REINDEX: // filling a new index
    return database == "temp";
  case SQLITE_READ: // without a database: the rows of a subquery are counted
    return database.empty() || database == "temp" || tables.contains(first);
  case SQLITE_PRAGMA:
    return pragmas.contains(first);
  case SQLITE_ATTACH:
    return attachable.contains(first);
  default:
    return false;
  }
}

void Guard::bound(sqlite3* db, std::int64_t steps) {
  if (!rules_) rules_ = std::make_shared<Rules>();
  rules_->looks_left = steps / steps_between_looks;
  sqlite3_progress_handler(db, steps_between_looks, stop_where_spent, &rules_->looks_left);
}

void Guard::lift(sqlite3* db) const { sqlite3_progress_handler(db, 0, nullptr, nullptr); }

void Guard::trust_pages(sqlite3* db) const {
  sqlite3_exec(db, "PRAGMA cell_size_check = OFF", nullptr, nullptr, nullptr);
}

Status Guard::check_tables(sqlite3* db) {
  Statement rows;
  int code = sqlite3_prepare_v2(db, "SELECT type, name, rootpage, sql FROM main.sqlite_master", -1,
                                &rows.handle, nullptr);
  if (code != SQLITE_OK) return reading_failed(db, code, path_);
  while ((code = sqlite3_step(rows.handle)) == SQLITE_ROW) {
    const std::string type = rows.text(0), name = rows.text(1);
    const std::string what = "its " + type + " \"" + name + "\" ";
    if (type != "table") return damaged(path_, what + "does not belong into a recording");
    if (name.starts_with("sqlite_") || tables_.size() == most_tables)
      return damaged(path_, what + "does not belong into a recording");
    const auto parsed = parse_tables(rows.text(3));
    if (!parsed.ok())
      return damaged(path_, what + "is no plain table: " + parsed.status().message());
    if (parsed->size() != 1 || sqlite3_column_int64(rows.handle, 2) < 2)
      return damaged(path_, what + "is no plain table");
    const TableText& table = parsed->front();
    const TableText* known = known_table(table.name);
    const std::string wrong = known != nullptr ? difference(*known, table) : "";
    if (!wrong.empty()) return damaged(path_, what + "is not that of a recording: " + wrong);
    tables_.insert(name);
    rooted_.push_back({static_cast<std::uint32_t>(sqlite3_column_int64(rows.handle, 2)), table});
  }
  return code == SQLITE_DONE ? Status() : reading_failed(db, code, path_);
}

Status Guard::quick_check(sqlite3* db, const std::string& sql) const {
  Statement check;
  int code = sqlite3_prepare_v2(db, sql.c_str(), -1, &check.handle, nullptr);
  if (code == SQLITE_OK) code = sqlite3_step(check.handle);
  if (code != SQLITE_ROW) return reading_failed(db, code, path_);
  return check.text(0) == "ok" ? Status() : damaged(path_, check.text(0));
}

Status Guard::check_pages(sqlite3* db, const DatabaseFile& file) {
  using Identity = std::tuple<dev_t, ino_t, off_t, time_t, long, time_t, long>;
  static std::mutex mutex;
  static std::set<Identity> checked;
  struct stat s {};
  if (::stat(path_.c_str(), &s) != 0) return Status::from_errno(errno, "look at " + path_);
  const Identity identity{s.st_dev,          s.st_ino,         s.st_size,        s.st_mtim.tv_sec,
                          s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec};
  if (file.settled) {
    const std::lock_guard lock(mutex);
    if (checked.contains(identity)) return {};
  }
  bool sound = file.settled && surely_sound(path_, rooted_);
  for (const RootedTable& table : rooted_)
    if (sound && table.text.without_rowid)
      sound = quick_check(db, "PRAGMA main.quick_check('" + table.text.name + "')").ok();
  if (!sound)
    if (Status status = quick_check(db, "PRAGMA main.quick_check(1)"); !status.ok()) return status;
  if (file.settled) {
    const std::lock_guard lock(mutex);
    checked.insert(identity);
  }
  return {};
}

void Guard::restrict_to_reading(sqlite3* db) {
  if (!rules_) rules_ = std::make_shared<Rules>();
  rules_->tables = tables_;
  for (const TableText& table : known_tables())
    rules_->tables.insert(table.name);
  for (const char* name : {"sqlite_master", "sqlite_schema", "sqlite_temp_master"})
    rules_->tables.insert(name);
  sqlite3_set_authorizer(db, Rules::authorize, rules_.get());
}

void Guard::allow_attached(const std::string& file) {
  if (!rules_) rules_ = std::make_shared<Rules>();
  rules_->attachable.insert(file);
}

} // namespace hitproof::schema
