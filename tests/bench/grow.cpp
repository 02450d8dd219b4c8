#include "tests/bench/grow.h"

#include "schema/archive.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <sqlite3.h>
#include <vector>

namespace hitproof::bench {
namespace fs = std::filesystem;
using schema::Code;
using schema::Status;

namespace {

// What is repeated; each has process, thread and seq but the study's own tables.
const char* const traffic[] = {"request",   "admission",   "lookup",         "lookup_answer",
                               "key_input", "step",        "step_request",   "block",
                               "state",     "transfer",    "transfer_page",  "transfer_mark",
                               "copy",      "page_digest", "page_compare",   "page_poison",
                               "tail_read", "pooled_key",  "order_op",       "wait",
                               "reuse",     "study_token", "study_operation"};
const std::set<std::string> page_tables = {"page_digest", "page_compare", "page_poison",
                                           "transfer_page", "tail_read"};
const std::set<std::string> ids = {"request",     "transfer",   "lookup",     "step",    "op",
                                   "host_object", "generation", "case_index", "call_seq"};
const std::set<std::string> times = {"t_ns", "end_ns", "begin_ns", "poison_ns"};
const std::set<std::string> digests = {"key",    "prompt",           "content", "page",
                                       "digest", "effective_digest", "logits"};

class Database {
 public:
  explicit Database(const std::string& path, bool write) {
    code_ = sqlite3_open_v2(path.c_str(), &db_,
                            write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, nullptr);
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  sqlite3* handle() { return db_; }

  // Errors stay: what follows one does nothing.
  void run(const std::string& sql) {
    if (code_ == SQLITE_OK) code_ = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code_ != SQLITE_OK && wrong_.empty()) wrong_ = sql;
  }
  std::vector<std::string> texts(const std::string& sql) {
    std::vector<std::string> out;
    sqlite3_stmt* s = nullptr;
    if (code_ == SQLITE_OK) code_ = sqlite3_prepare_v2(db_, sql.c_str(), -1, &s, nullptr);
    while (code_ == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(s, 0));
      out.emplace_back(text != nullptr ? text : "");
    }
    sqlite3_finalize(s);
    if (code_ != SQLITE_OK && wrong_.empty()) wrong_ = sql;
    return out;
  }
  std::int64_t number(const std::string& sql) {
    const auto found = texts(sql);
    return found.empty() || found[0].empty() ? 0 : std::stoll(found[0]);
  }
  Status status() const {
    if (code_ == SQLITE_OK) return {};
    return Status(Code::io_error, std::string(sqlite3_errmsg(db_)) + ": " + wrong_);
  }

 private:
  sqlite3* db_ = nullptr;
  int code_ = SQLITE_OK;
  std::string wrong_;
};

// renamed(digest, copy): another digest for another copy, the same in every table; "none" stays.
void renamed(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* bytes = static_cast<const unsigned char*>(sqlite3_value_blob(values[0]));
  const int size = sqlite3_value_bytes(values[0]);
  const auto copy = static_cast<std::uint64_t>(sqlite3_value_int64(values[1]));
  std::vector<unsigned char> out(bytes, bytes + size);
  bool none = true;
  for (const unsigned char byte : out)
    none = none && byte == 0;
  for (int i = 0; !none && i < 8 && i < size; ++i)
    out[static_cast<std::size_t>(size - 1 - i)] ^=
        static_cast<unsigned char>(copy * 0x9E3779B97F4A7C15u >> (8 * i));
  sqlite3_result_blob(context, out.data(), size, SQLITE_TRANSIENT);
}

std::vector<std::string> columns_of(Database& db, const std::string& table) {
  return db.texts("SELECT name FROM pragma_table_info('" + table + "')");
}

// How far a copy's ids and times lie from the copy before it.
struct Strides {
  std::map<std::string, std::int64_t> of;
};

Strides strides_of(Database& db) {
  Strides strides;
  std::int64_t first = INT64_MAX, last = 0;
  for (const char* table : traffic) {
    for (const std::string& column : columns_of(db, table)) {
      const std::string quoted = "\"" + column + "\"",
                        from = " FROM \"" + std::string(table) + "\"";
      if (ids.contains(column) && !(column == "op" && std::string(table) == "block") &&
          !(column == "op" && std::string(table) == "order_op")) {
        std::int64_t& most = strides.of[column];
        most = std::max(most, db.number("SELECT MAX(" + quoted + ")" + from) + 1);
      }
      if (!times.contains(column)) continue;
      last = std::max(last, db.number("SELECT MAX(" + quoted + ")" + from));
      const auto least =
          db.number("SELECT MIN(" + quoted + ")" + from + " WHERE " + quoted + " > 0");
      if (least > 0) first = std::min(first, least);
    }
  }
  for (const std::string& column : times)
    strides.of[column] = last - first + 1'000'000'000;
  return strides;
}

std::string list(const std::vector<std::string>& columns) {
  std::string out;
  for (const std::string& column : columns)
    out += (out.empty() ? "\"" : ", \"") + column + "\"";
  return out;
}

std::string insert_of(Database& db, const std::string& table, const Strides& strides) {
  std::string values;
  const bool enumerates = table == "block" || table == "order_op"; // their `op` is no id
  for (const std::string& column : columns_of(db, table)) {
    const std::string quoted = "\"" + column + "\"";
    std::string value = quoted;
    const auto stride = strides.of.find(column);
    if (column == "seq")
      value = "grow_last + (?1 - 1) * grow_n + grow_place";
    else if (digests.contains(column) && !(table == "study_operation" && column == "op"))
      value = "renamed(" + quoted + ", ?1)";
    else if (stride != strides.of.end() && !(enumerates && column == "op")) {
      const std::string moved = quoted + " + ?1 * " + std::to_string(stride->second);
      const bool from_zero = column == "op" || column == "case_index";
      value = from_zero ? moved : "CASE " + quoted + " WHEN 0 THEN 0 ELSE " + moved + " END";
    }
    values += (values.empty() ? "" : ", ") + value;
  }
  return "INSERT INTO main.\"" + table + "\" (" + list(columns_of(db, table)) + ") SELECT " +
         values + " FROM temp.\"src_" + table + "\"";
}

Status grow_database(const std::string& path, int copies) {
  Database db(path, true);
  sqlite3_create_function(db.handle(), "renamed", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                          renamed, nullptr, nullptr);
  db.run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144;"
         "PRAGMA temp_store = MEMORY;");
  const Strides strides = strides_of(db);
  std::string written, repeated;
  for (const std::string& table : db.texts(
           "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'seq'"))
    written += (written.empty() ? "" : " UNION ALL ") +
               ("SELECT process, thread, seq FROM \"" + table + "\"");
  for (const std::string table : traffic)
    if (!table.starts_with("study_"))
      repeated += (repeated.empty() ? "" : " UNION ALL ") +
                  ("SELECT process, thread, seq FROM \"" + table + "\"");
  db.run(
      "CREATE TEMP TABLE last_seq AS SELECT process, thread, MAX(seq) AS last FROM (" + written +
      ") GROUP BY process, thread; CREATE TEMP TABLE place AS SELECT r.process, r.thread, r.seq, "
      "ROW_NUMBER() OVER (PARTITION BY r.process, r.thread ORDER BY r.seq) AS place, COUNT(*) "
      "OVER (PARTITION BY r.process, r.thread) AS n, l.last FROM (" +
      repeated +
      ") r JOIN last_seq l ON l.process = r.process AND l.thread = r.thread;"
      "CREATE UNIQUE INDEX temp.place_of ON place (process, thread, seq)");
  std::vector<sqlite3_stmt*> inserts;
  for (const std::string table : traffic) {
    const bool study = table.starts_with("study_");
    db.run("CREATE TEMP TABLE \"src_" + table + "\" AS SELECT t.*" +
           (study ? "" : ", p.place AS grow_place, p.n AS grow_n, p.last AS grow_last") +
           " FROM main.\"" + table + "\" t" +
           (study ? ""
                  : " JOIN place p ON p.process = t.process AND p.thread = t.thread AND p.seq = "
                    "t.seq ORDER BY t.rowid"));
    if (!db.status().ok()) break;
    sqlite3_stmt* insert = nullptr;
    sqlite3_prepare_v2(db.handle(), insert_of(db, table, strides).c_str(), -1, &insert, nullptr);
    inserts.push_back(insert);
  }
  db.run("BEGIN");
  Status status = db.status();
  for (int copy = 1; status.ok() && copy < copies; ++copy) {
    for (sqlite3_stmt* insert : inserts) {
      sqlite3_bind_int(insert, 1, copy);
      if (sqlite3_step(insert) != SQLITE_DONE)
        status = Status(Code::io_error, path + ": " + sqlite3_errmsg(db.handle()));
      sqlite3_reset(insert);
    }
  }
  for (sqlite3_stmt* insert : inserts)
    sqlite3_finalize(insert);
  db.run("COMMIT; PRAGMA journal_mode = DELETE");
  return status.ok() ? db.status() : status;
}

} // namespace

schema::Result<Rows> count_rows(const std::string& dir) {
  Rows rows;
  for (const char* name : {"/data/recording.sqlite", "/data/reference/recording.sqlite"}) {
    if (!fs::exists(dir + name)) continue;
    Database db(dir + name, false);
    for (const std::string& table : db.texts("SELECT name FROM sqlite_master WHERE type = 'table'"))
      (page_tables.contains(table) ? rows.page : rows.narrow) +=
          db.number("SELECT COUNT(*) FROM \"" + table + "\"");
    if (const Status status = db.status(); !status.ok()) return status;
  }
  return rows;
}

Status grow_archive(const std::string& source, const std::string& target, int copies) {
  std::error_code error;
  fs::create_directories(target, error);
  if (!error) fs::copy(source + "/data", target + "/data", fs::copy_options::recursive, error);
  if (error) return Status::from_errno(error.value(), "copy " + source + " to " + target);
  for (const char* name : {"/data/recording.sqlite", "/data/reference/recording.sqlite"}) {
    if (!fs::exists(target + name)) continue;
    if (Status status = grow_database(target + name, copies); !status.ok()) return status;
  }
  return schema::close_archive(target).status();
}

} // namespace hitproof::bench
