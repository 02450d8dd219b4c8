#include "schema/record_table.h"

#include "schema/records.h"

#include <array>

namespace hitproof::schema {
namespace {

#define HP_RECORD(name, id, says)                                                                  \
  namespace fields_of_##name {                                                                     \
    using Row = rec::name;                                                                         \
    constexpr FieldInfo fields[] = {
#define HP_FIELD(field, kind, unit, meaning)                                                       \
  {#field, FieldKind::kind, offsetof(Row, field), sizeof(Row::field), unit, meaning},
#define HP_U8(field, unit, meaning) HP_FIELD(field, u8, unit, meaning)
#define HP_U16(field, unit, meaning) HP_FIELD(field, u16, unit, meaning)
#define HP_U32(field, unit, meaning) HP_FIELD(field, u32, unit, meaning)
#define HP_U64(field, unit, meaning) HP_FIELD(field, u64, unit, meaning)
#define HP_I32(field, unit, meaning) HP_FIELD(field, i32, unit, meaning)
#define HP_I64(field, unit, meaning) HP_FIELD(field, i64, unit, meaning)
#define HP_ADDR(field, unit, meaning) HP_FIELD(field, address, unit, meaning)
#define HP_HASH(field, unit, meaning) HP_FIELD(field, hash, unit, meaning)
#define HP_TEXT(field, bytes, unit, meaning) HP_FIELD(field, text, unit, meaning)
#define HP_END(name)                                                                               \
  }                                                                                                \
  ;                                                                                                \
  }
#include "schema/records.def"
#include "schema/records_undef.h"

#define HP_RECORD(name, id, says)                                                                  \
  RecordInfo{#name, rec::name::type, sizeof(rec::name), says, fields_of_##name::fields},
#define HP_U8(...)
#define HP_U16(...)
#define HP_U32(...)
#define HP_U64(...)
#define HP_I32(...)
#define HP_I64(...)
#define HP_ADDR(...)
#define HP_HASH(...)
#define HP_TEXT(...)
#define HP_END(name)
constexpr RecordInfo records[] = {
#include "schema/records.def"
};
#include "schema/records_undef.h"

constexpr std::size_t type_numbers = 256;

constexpr auto index_by_type = [] {
  std::array<std::int16_t, type_numbers> index{};
  for (auto& i : index)
    i = -1;
  for (std::size_t i = 0; i < std::size(records); ++i) {
    // Not a constant expression, and so a failed build, where a number is given twice.
    if (index[records[i].type] != -1) throw "two records have the same type number";
    index[records[i].type] = static_cast<std::int16_t>(i);
  }
  return index;
}();

} // namespace

std::span<const RecordInfo> all_records() noexcept { return records; }

const RecordInfo* record_info(std::uint16_t type) noexcept {
  if (type >= type_numbers || index_by_type[type] < 0) return nullptr;
  return &records[index_by_type[type]];
}

} // namespace hitproof::schema
