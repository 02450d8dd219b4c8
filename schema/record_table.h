// The record list as data: what records.h is at compile time, for code that handles every record
// alike (inserts, table definitions, documentation, export).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hitproof::schema {

enum class FieldKind : std::uint8_t { u8, u16, u32, u64, i32, i64, address, hash, text };

struct FieldInfo {
  const char* name;
  FieldKind kind;
  std::uint16_t offset; // in the record's struct
  std::uint16_t bytes;
  const char* unit;
  const char* meaning;
};

struct RecordInfo {
  const char* name; // also the table's
  std::uint16_t type;
  std::uint16_t bytes;
  const char* says; // what one row says
  std::span<const FieldInfo> fields;
};

// All records in the order of records.def.
std::span<const RecordInfo> all_records() noexcept;
// Null for a number that no record has.
const RecordInfo* record_info(std::uint16_t type) noexcept;

// The text of records.sql: every table of a recording with unit and meaning of each column.
std::string records_sql();

} // namespace hitproof::schema
