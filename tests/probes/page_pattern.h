// What the subject's pages hold, for the subject that fills them and the tests that expect it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace subject {

inline constexpr std::size_t page_bytes = 4096, content_bytes = 3000, pages = 5;
inline constexpr std::uint16_t page_rank = 1, page_entry = 33;
inline constexpr std::uint32_t first_block = 40, generation = 9;
inline constexpr std::uint64_t transfer_id = (std::uint64_t{2} << 48) | 7;

inline std::vector<unsigned char> page_content(std::size_t page) {
  std::vector<unsigned char> bytes(page_bytes);
  for (std::size_t i = 0; i < page_bytes; ++i)
    bytes[i] = static_cast<unsigned char>(page * 31 + i * 7 + 1);
  return bytes;
}

// Tails: two halves, ring of four, eight channels of bf16, channels first in memory (stride of a
// channel is not one), so that the contiguous address reads something else.
inline constexpr std::uint16_t ring = 4, channels = 8, stride_half = 64, stride_slot = 1,
                               stride_channel = 4;

} // namespace subject
