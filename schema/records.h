// The journal's records as plain structs, made from records.def: schema::rec::<name>, natural
// alignment, zero-initialised, at most 112 bytes, with `type` as the number that tells them apart
// in a journal. The SQLite tables have the same names and columns (records.sql).
//
//   rec::wait w{.transfer = id, .request = r, .end_ns = now(), .rank = 3, .kind = 1};
//   set_text(entry.name, "layers.3.mla");
#pragma once

#include "schema/sha256.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace hitproof::schema {

inline constexpr std::size_t max_payload_bytes = 112;

namespace rec {
#define HP_RECORD(name, id, says)                                                                  \
  struct name {                                                                                    \
    static constexpr std::uint16_t type = id;
#define HP_U8(field, unit, meaning) std::uint8_t field = 0;
#define HP_U16(field, unit, meaning) std::uint16_t field = 0;
#define HP_U32(field, unit, meaning) std::uint32_t field = 0;
#define HP_U64(field, unit, meaning) std::uint64_t field = 0;
#define HP_I32(field, unit, meaning) std::int32_t field = 0;
#define HP_I64(field, unit, meaning) std::int64_t field = 0;
#define HP_ADDR(field, unit, meaning) std::uint64_t field = 0;
#define HP_HASH(field, unit, meaning) Digest field{};
#define HP_TEXT(field, bytes, unit, meaning) char field[bytes] = {};
#define HP_END(name)                                                                               \
  }                                                                                                \
  ;
#include "schema/records.def"
#include "schema/records_undef.h"

#define HP_RECORD(name, id, says)                                                                  \
  static_assert(sizeof(name) <= max_payload_bytes, "record " #name " does not fit a slot");        \
  static_assert(std::is_trivially_copyable_v<name> && std::is_standard_layout_v<name>);            \
  static_assert(name::type != 0);
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
#include "schema/records.def"
#include "schema/records_undef.h"
} // namespace rec

// Copies text into a record's field: cut to the field's size, the rest zero.
template <std::size_t N> void set_text(char (&field)[N], std::string_view text) noexcept {
  const std::size_t n = text.size() < N ? text.size() : N;
  if (n != 0) std::memcpy(field, text.data(), n); // an empty view may point nowhere
  std::memset(field + n, 0, N - n);
}

// The text of a field that may fill all of its bytes.
template <std::size_t N> std::string_view get_text(const char (&field)[N]) noexcept {
  return {field, strnlen(field, N)};
}

} // namespace hitproof::schema
