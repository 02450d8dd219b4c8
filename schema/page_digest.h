// The digest of a cache page: root of the Merkle tree of RFC 6962, section 2.1, over leaves of
// 1,024 bytes (the last one may be shorter): leaf = SHA-256(0x00 || bytes), node = SHA-256(0x01 ||
// left || right), an odd leaf is not duplicated; no bytes at all = SHA-256(""). A GPU hashes the
// leaves in parallel and gets the same root.
//
// Pure and without allocation: may run on any thread, inside a preloaded library too.
#pragma once

#include "schema/sha256.h"

#include <cstddef>
#include <span>

namespace hitproof::schema {

inline constexpr std::size_t page_leaf_bytes = 1024;

struct PageDigests {
  Digest content; // of the first content_bytes bytes
  Digest page;    // of all page_bytes bytes
};

// Root over `bytes` bytes at `data`.
Digest page_digest(const void* data, std::size_t bytes) noexcept;

// Both digests of a page in one pass over its bytes. Precondition: content_bytes <= page_bytes.
PageDigests page_digests(const void* page, std::size_t content_bytes,
                         std::size_t page_bytes) noexcept;

// The steps, for code that computes leaves elsewhere (a GPU): one leaf of at most page_leaf_bytes,
// and the root of a list of leaves.
Digest page_leaf(const void* data, std::size_t bytes) noexcept;
Digest page_root(std::span<const Digest> leaves) noexcept;

} // namespace hitproof::schema
