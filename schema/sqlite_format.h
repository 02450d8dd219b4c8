// The bytes of an SQLite database file, as far as recordings need them read without SQLite
// (sqlite.org/fileformat2.html, sections 1.3 to 2.1). Internal to the schema.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hitproof::schema::sqlite_format {

inline constexpr std::uint8_t interior_index = 2, interior_table = 5, leaf_index = 10,
                              leaf_table = 13;
inline constexpr std::size_t file_header = 100; // before the b-tree header of page 1

inline std::uint32_t big_endian(const std::uint8_t* at, int bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value = value << 8 | at[i];
  return value;
}

// Bytes taken by the varint at `at`, 0 where it does not end before `end`.
inline int varint(const std::uint8_t* at, const std::uint8_t* end, std::uint64_t& value) {
  if (at < end && *at < 0x80) {
    value = *at;
    return 1;
  }
  value = 0;
  for (int i = 0; i < 8 && at + i < end; ++i) {
    value = value << 7 | (at[i] & 0x7f);
    if (at[i] < 0x80) return i + 1;
  }
  if (end - at < 9) return 0;
  value = value << 8 | at[8];
  return 9;
}

// Bytes of a value by its serial type (section 2.1); types 10 and 11 are never in a file.
inline std::uint64_t value_bytes(std::uint64_t type) {
  constexpr std::uint8_t few[12] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  return type < 12 ? few[type] : (type - 12) / 2;
}

inline bool is_integer(std::uint64_t type) {
  return (type >= 1 && type <= 6) || type == 8 || type == 9;
}

// Of the types in a row's header: rows of one table have few different ones, and what follows from
// one is kept by this.
inline std::size_t hash_of(const std::uint8_t* types, std::size_t bytes) {
  std::uint64_t hash = bytes, part = 0;
  const auto mix = [&] { hash = (hash ^ part) * 0x9E3779B97F4A7C15u; };
  for (; bytes >= sizeof part; bytes -= sizeof part, types += sizeof part) {
    std::memcpy(&part, types, sizeof part);
    mix();
  }
  part = 0;
  std::memcpy(&part, types, bytes);
  mix();
  return hash >> 40;
}

} // namespace hitproof::schema::sqlite_format
