// The prompts of the studies: token ids that any two machines make alike from a seed.
#pragma once

#include "schema/plan_operations.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hitproof::cli {

// Offsets of the nine lengths from multiples of the checkpoint interval C, in the order of the
// study: 2C-1, 2C, 2C+1, 2C+3, 2C+4, 2C+5, 3C-1, 3C, 3C+1 (C = 1,792 gives 3583 .. 5377).
std::vector<uint32_t> default_lengths(uint32_t checkpoint);
// Those of the other studies: 2C-1, 2C, 3C.
std::vector<uint32_t> three_lengths(uint32_t checkpoint);

// What a prompt is made of beside its seed.
struct PromptSource {
  uint64_t seed = 0;
  uint32_t vocabulary = 0;       // ids are below it
  int32_t first_byte_token = -1; // id of byte 0 in the engine's tokenizer; -1: it encodes no text
};

// Exactly op.length ids in [0, vocabulary). Prompts of a study differ pairwise within their first
// 64 tokens and share no chunk. Template "tagged" begins with the bytes of a document tag that
// names length, which and trial; the rest is a counter-based pseudo-random text keyed by the tag
// and the seed. It requires vocabulary > 256 and length >= 64. The others are text
// (prompt_texts.h), a token a byte; they require a tokenizer that encodes text.
std::vector<int32_t> make_prompt(const schema::PlannedOperation& op, const PromptSource& source);

// SHA-256 of the ids, each as 4 little-endian bytes.
std::array<uint8_t, 32> prompt_sha256(const std::vector<int32_t>& ids);

} // namespace hitproof::cli
