// Record rows of a recording: inserting a record's struct, reading it back.
#include "schema/recording.h"
#include "schema/recording_impl.h"
#include "schema/sqlite_status.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace hitproof::schema {
namespace {

constexpr int origin_columns = 4;

template <class T> T load(const unsigned char* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void bind_field(sqlite3_stmt* statement, int index, const FieldInfo& field,
                const unsigned char* payload) noexcept {
  const unsigned char* at = payload + field.offset;
  switch (field.kind) {
  case FieldKind::u8:
    sqlite3_bind_int64(statement, index, *at);
    return;
  case FieldKind::u16:
    sqlite3_bind_int64(statement, index, load<std::uint16_t>(at));
    return;
  case FieldKind::u32:
    sqlite3_bind_int64(statement, index, load<std::uint32_t>(at));
    return;
  case FieldKind::i32:
    sqlite3_bind_int64(statement, index, load<std::int32_t>(at));
    return;
  case FieldKind::u64:
  case FieldKind::i64:
  case FieldKind::address:
    sqlite3_bind_int64(statement, index, load<std::int64_t>(at));
    return;
  case FieldKind::hash:
    sqlite3_bind_blob(statement, index, at, field.bytes, SQLITE_STATIC);
    return;
  case FieldKind::text: {
    const auto* text = reinterpret_cast<const char*>(at);
    const auto n = static_cast<int>(strnlen(text, field.bytes));
    sqlite3_bind_text(statement, index, text, n, SQLITE_STATIC);
    return;
  }
  }
}

void read_field(sqlite3_stmt* statement, int column, const FieldInfo& field,
                unsigned char* payload) noexcept {
  unsigned char* at = payload + field.offset;
  if (field.kind == FieldKind::hash || field.kind == FieldKind::text) {
    const void* bytes = sqlite3_column_blob(statement, column);
    const int n = sqlite3_column_bytes(statement, column);
    if (bytes != nullptr) std::memcpy(at, bytes, std::min<std::size_t>(field.bytes, n));
    return;
  }
  const std::int64_t value = sqlite3_column_int64(statement, column);
  std::memcpy(at, &value, field.bytes); // little-endian: the low bytes come first
}

// The record's columns; with `there`, NULL in the place of those that are not.
std::string column_list(const RecordInfo& record, const std::set<std::string>* there = nullptr) {
  std::string text = "process, thread, seq, t_ns";
  for (const FieldInfo& field : record.fields) {
    const bool absent = there != nullptr && !there->contains(field.name);
    text += absent ? ", NULL" : ", \"" + std::string(field.name) + "\"";
  }
  return text;
}

} // namespace

Status Recording::Impl::columns_of(const char* table, std::set<std::string>* columns) {
  Prepared query;
  Status status = query.prepare(db, "PRAGMA table_info(\"" + std::string(table) + "\")");
  if (!status.ok()) return status;
  for (;;) {
    const int code = sqlite3_step(query.get());
    if (code == SQLITE_DONE) return {};
    if (code != SQLITE_ROW) return sqlite_status(db, code, "read the tables of " + path);
    columns->insert(reinterpret_cast<const char*>(sqlite3_column_text(query.get(), 1)));
  }
}

Status Recording::Impl::complete_tables() {
  Status status = exec(records_sql());
  for (const RecordInfo& record : all_records()) {
    std::set<std::string> columns;
    if (status.ok()) status = columns_of(record.name, &columns);
    for (const FieldInfo& field : record.fields)
      if (status.ok() && !columns.contains(field.name))
        status = exec("ALTER TABLE \"" + std::string(record.name) + "\" ADD COLUMN \"" +
                      field.name + "\"");
  }
  return status;
}

Status Recording::Impl::prepare_insert(const RecordInfo& record) {
  std::string sql = "INSERT INTO \"" + std::string(record.name) + "\" (" + column_list(record) +
                    ") VALUES (?,?,?,?";
  for (std::size_t i = 0; i < record.fields.size(); ++i)
    sql += ",?";
  return inserts[record.type].prepare(db, sql + ")");
}

Status Recording::insert(std::uint16_t type, const void* payload, const Origin& origin) {
  const RecordInfo* record = record_info(type);
  if (record == nullptr)
    return Status(Code::invalid_argument, "no record has type number " + std::to_string(type));
  sqlite3_stmt* statement = impl_->inserts[type].get();
  if (statement == nullptr) {
    Status status = impl_->prepare_insert(*record);
    if (!status.ok()) return status;
    statement = impl_->inserts[type].get();
  }
  sqlite3_bind_int64(statement, 1, origin.process);
  sqlite3_bind_int64(statement, 2, origin.thread);
  sqlite3_bind_int64(statement, 3, origin.seq);
  sqlite3_bind_int64(statement, 4, static_cast<std::int64_t>(origin.t_ns));
  int index = origin_columns + 1;
  const auto* bytes = static_cast<const unsigned char*>(payload);
  for (const FieldInfo& field : record->fields)
    bind_field(statement, index++, field, bytes);
  return impl_->run(statement);
}

Status Recording::each_payload(std::uint16_t type, std::string_view tail,
                               const std::function<bool(const void*, const Origin&)>& visit) {
  const RecordInfo* record = record_info(type);
  if (record == nullptr)
    return Status(Code::invalid_argument, "no record has type number " + std::to_string(type));
  if (tail.empty()) tail = "ORDER BY process, thread, seq";
  // A recording made before a table or column was added to the list says nothing there.
  std::set<std::string> there;
  Status status = impl_->columns_of(record->name, &there);
  if (!status.ok() || there.empty()) return status;
  Prepared query;
  status = query.prepare(impl_->db, "SELECT " + column_list(*record, &there) + " FROM \"" +
                                        record->name + "\" " + std::string(tail));
  if (!status.ok()) return status;
  sqlite3_stmt* statement = query.get();
  for (;;) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_DONE) return {};
    if (code != SQLITE_ROW)
      return sqlite_status(impl_->db, code, "read " + impl_->path + ", table " + record->name);
    Origin origin;
    origin.process = static_cast<std::uint32_t>(sqlite3_column_int64(statement, 0));
    origin.thread = static_cast<std::uint32_t>(sqlite3_column_int64(statement, 1));
    origin.seq = static_cast<std::uint32_t>(sqlite3_column_int64(statement, 2));
    origin.t_ns = static_cast<std::uint64_t>(sqlite3_column_int64(statement, 3));
    alignas(8) unsigned char payload[max_payload_bytes] = {};
    int column = origin_columns;
    for (const FieldInfo& field : record->fields)
      read_field(statement, column++, field, payload);
    if (!visit(payload, origin)) return {};
  }
}

} // namespace hitproof::schema
