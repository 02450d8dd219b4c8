// The prompts of a boundary study: token ids that any two machines make alike from a seed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hitproof::cli {

// Offsets of the nine lengths from multiples of the checkpoint interval C, in the order of the
// study: 2C-1, 2C, 2C+1, 2C+3, 2C+4, 2C+5, 3C-1, 3C, 3C+1 (C = 1,792 gives 3583 .. 5377).
std::vector<uint32_t> default_lengths(uint32_t checkpoint);

// A prompt of exactly `length` ids in [0, vocabulary). It begins with the bytes of a document tag
// that names the length and `which` ('A', 'X' or 'Y'), so two prompts of a study differ within
// their first 64 tokens and share no chunk; the rest is a counter-based pseudo-random text keyed by
// the tag and `seed`. Requires vocabulary > 256 and length >= 64.
std::vector<int32_t> make_prompt(uint32_t length, char which, uint64_t seed, uint32_t vocabulary);

// SHA-256 of the ids, each as 4 little-endian bytes.
std::array<uint8_t, 32> prompt_sha256(const std::vector<int32_t>& ids);

} // namespace hitproof::cli
