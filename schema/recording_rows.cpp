// Record rows of a recording: inserting a record's struct, reading it back.
#include "schema/recording.h"
#include "schema/recording_impl.h"
#include "schema/sqlite_status.h"

#include <cstring>

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

std::string column_list(const RecordInfo& record) {
  std::string text = "process, thread, seq, t_ns";
  for (const FieldInfo& field : record.fields)
    text += ", \"" + std::string(field.name) + "\"";
  return text;
}

} // namespace

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
  Prepared query;
  Status status = query.prepare(impl_->db, "SELECT " + column_list(*record) + " FROM \"" +
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
