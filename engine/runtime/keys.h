// Keys of the external cache: SHA-256 over every named input that the cached bytes depend on.
//
// Promise: two keys are equal exactly when all named inputs and the prefix are. Front, ranks and
// cache server make keys with these functions only, so that writer and reader cannot derive them
// differently.
#pragma once

#include "engine/runtime/protocol.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hitproof::engine {

// SHA-256 of token ids, each as 4 little-endian bytes.
Digest prefix_digest(std::span<const int32_t> tokens);

Digest text_digest(std::string_view text);

// Over (name, value) of every input in the given order, then ("prefix", prefix).
Digest make_key(std::span<const NamedDigest> inputs, const Digest& prefix);

// Tells the probe what a key is made of.
void announce_key(const Digest& key, int rank, std::span<const NamedDigest> inputs,
                  const Digest& prefix);

std::string hex(const Digest& digest);

} // namespace hitproof::engine
