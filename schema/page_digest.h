// The digest of a cache page: root of a Merkle tree with the prefixes of RFC 6962, section 2.1,
// over leaves of 1,024 bytes (the last one may be shorter), with up to eight children a node: leaf
// = SHA-256(0x00 || bytes), node = SHA-256(0x01 || child || child ...). Each level groups the one
// below from the left by eight; a group of one goes up as it is; no bytes at all = SHA-256("").
//
// A GPU hashes the leaves in parallel and gets the same root. Eight children, because the levels of
// a page are hashed one after the other: with two of them they take twice as long, and there is
// more to hash.
//
// Pure and without allocation: may run on any thread, inside a preloaded library too.
#pragma once

#include "schema/sha256.h"

#include <cstddef>
#include <span>

namespace hitproof::schema {

inline constexpr std::size_t page_leaf_bytes = 1024;
inline constexpr std::size_t page_node_children = 8;
// Its name in a recording (fact `page_digest`).
inline constexpr char page_digest_name[] = "sha256-tree-1024x8";

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
