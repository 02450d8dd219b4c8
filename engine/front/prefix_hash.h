// The content names of a sequence's whole blocks: digest k-1 stands for the token ids [0, k * block
// tokens).
//
// Promise: equal digests mean equal token prefixes; the same digests name prefixes towards the
// external cache, so that device cache and external cache can never disagree on what a prefix is.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace hitproof::engine {

using PrefixHash = std::array<uint8_t, 32>;

/// Extends `hashes` to all whole blocks of `tokens`; what it holds already is for a prefix of the
/// same tokens.
void extend_prefix_hashes(std::span<const int32_t> tokens, int block_tokens,
                          std::vector<PrefixHash>& hashes);

} // namespace hitproof::engine
