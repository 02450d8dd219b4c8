// What poison looks like. Every page that a load must overwrite is filled, on the copy's own
// stream, with 8-byte words that name the page: recording, entry, page and generation are packed
// into a key, and the key is combined with the word's offset. No byte of it is zero. A word that is
// still there after the load therefore says whose poison it is, and a zero byte is never poison.
//
// Of every 64-bit word 56 bits carry information (the lowest bit of each byte is set):
//   entry 8 bits | page 20 bits | generation 16 bits (its lower bits) | tag of the recording 12
//   bits
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hitproof::poison {

struct Owner {
  std::uint32_t entry = 0;      // lower 8 bits are kept
  std::uint32_t page = 0;       // block id, lower 20 bits are kept
  std::uint32_t generation = 0; // lower 16 bits are kept
  friend bool operator==(const Owner&, const Owner&) = default;
};

// A 12-bit tag from any text that names a recording (its directory): two recordings on one machine
// do not read each other's poison as their own, but for 1 in 4,096.
std::uint32_t recording_tag(const char* name);

// The key for kernels::poison_fill and poison_count.
std::uint64_t poison_key(std::uint32_t recording, const Owner& owner);

// Whose poison the word at byte `offset` of a page is; nothing where it is not poison of this
// recording. `offset` must be a multiple of 8.
std::optional<Owner> owner_of_word(std::uint32_t recording, std::uint64_t word,
                                   std::uint64_t offset);

struct Residue {
  std::uint64_t words = 0; // words that decode to one and the same owner
  Owner owner;
  std::uint64_t first = 0; // byte offset of the first of them in the page
};
// Looks for poison of any page of this recording in `bytes` bytes found at byte `offset` of a page
// (both multiples of 8), and returns the most frequent owner. Random data passes for poison with a
// probability of 2^-20 a word, so one word alone is a hint and two are proof.
std::optional<Residue> find_residue(std::uint32_t recording, const void* data, std::size_t bytes,
                                    std::uint64_t offset);

} // namespace hitproof::poison
