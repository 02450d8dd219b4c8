// Page operations over host-addressable memory: the CPU twins of the device operations, with the
// same signatures and the same answers. Nothing here fails, allocates or keeps state; preconditions
// are stated per function. AVX2 is required (x86-64-v3, checked where the programs start).
//
// Poison is a stream of 8-byte words: word i of a page is `poison_word(key, i)`, where `key` comes
// from the poison room and says whose page it is. No byte of a poison word is ever zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hitproof::kernels {

inline constexpr std::size_t poison_word_bytes = 8;
inline constexpr std::uint64_t poison_set_bits = 0x0101010101010101u;

// Whitening of word `index`: makes every offset look different, so that poison that was moved by a
// copy to another offset is not taken for poison that stayed.
constexpr std::uint64_t poison_whiten(std::uint64_t index) {
  std::uint64_t x = (index + 1) * 0x9e3779b97f4a7c15u;
  x ^= x >> 31;
  x ^= x << 21;
  return x;
}
constexpr std::uint64_t poison_word(std::uint64_t key, std::uint64_t index) {
  return (key ^ poison_whiten(index)) | poison_set_bits;
}

struct CompareResult {
  std::uint64_t differ = 0; // bytes that differ
  std::int64_t first = -1;  // offset of the first one, -1 where none
};
// Compares n bytes.
CompareResult page_compare(const void* a, const void* b, std::size_t n);

// How many of n bytes are not zero. (On a device nonzero_mask says which bytes of one word, and its
// marks are counted: kernels/cuda/device_memory.h.)
std::uint64_t count_nonzero_bytes(const void* data, std::size_t n);

// Writes poison over n bytes; a last partial word gets the first bytes of its word.
void poison_fill(void* dst, std::size_t n, std::uint64_t key);

struct PoisonCount {
  std::uint64_t words = 0;         // whole words equal to their poison word
  std::uint64_t content_words = 0; // of these, words that lie wholly in the content
  std::uint64_t tail_bytes = 0;    // bytes of the last partial word equal to poison (0..7)
  std::int64_t first = -1;         // byte offset of the first such word, -1 where none
};
// Counts poison left in n bytes whose first content_n bytes are content (content_n <= n).
PoisonCount poison_count(const void* data, std::size_t n, std::size_t content_n, std::uint64_t key);

// A block of halves x slots x channels elements with a stride (in elements) for each dimension.
struct StridedBlock {
  std::uint32_t halves, slots, channels, element_bytes;
  std::uint32_t stride_half, stride_slot, stride_channel;
  std::size_t elements() const { return std::size_t{halves} * slots * channels; }
};
// Gathers all elements, half outermost and channel innermost, into `out` (elements *
// element_bytes).
void strided_gather(const void* base, const StridedBlock& block, void* out);

// How many of n elements of element_bytes each have any byte that is not zero; how many are equal
// in a and b.
std::uint64_t count_nonzero_elements(const void* data, std::size_t n, std::size_t element_bytes);
std::uint64_t count_equal_elements(const void* a, const void* b, std::size_t n,
                                   std::size_t element_bytes);

} // namespace hitproof::kernels
