#define OPENSSL_SUPPRESS_DEPRECATED
#include "schema/page_digest.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <openssl/sha.h>

namespace hitproof::schema {
namespace {

Digest state_of(const SHA256_CTX& hash) noexcept {
  Digest digest;
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t word = __builtin_bswap32(hash.h[i]);
    std::memcpy(digest.data() + 4 * i, &word, 4);
  }
  return digest;
}

// FIPS 180-4, 5.1.1: after the message's last `used` bytes a one bit, zeros, and the length of the
// whole message in bits as 64 big-endian bits, up to `end`.
void pad(unsigned char* tail, std::size_t used, std::size_t end, std::uint64_t bytes) noexcept {
  tail[used] = 0x80;
  std::memset(tail + used + 1, 0, end - used - 9);
  const std::uint64_t bits = __builtin_bswap64(bytes * 8);
  std::memcpy(tail + end - 8, &bits, 8);
}

Digest node(const Digest* children, std::size_t count) noexcept {
  static_assert(sizeof(Digest) == 32);
  unsigned char bytes[1 + page_node_children * 32 + 63];
  const std::size_t used = 1 + count * 32, end = (used + 9 + 63) / 64 * 64;
  bytes[0] = 1;
  std::memcpy(bytes + 1, children, count * 32);
  pad(bytes, used, end, used);
  SHA256_CTX hash;
  SHA256_Init(&hash);
  SHA256_Update(&hash, bytes, end);
  return state_of(hash);
}

// The tree as it grows from the left: of each level the nodes that have no parent yet. The root of
// a prefix can be read off on the way.
class Tree {
 public:
  void add(const Digest& leaf) noexcept {
    Digest up = leaf;
    for (Level* level = levels_;; ++level) {
      level->node[level->count++] = up;
      top_ = std::max(top_, level + 1 - levels_);
      if (level->count < page_node_children) return;
      up = node(level->node, page_node_children);
      level->count = 0;
    }
  }

  Digest root() const noexcept {
    if (top_ == 0) return sha256(nullptr, 0);
    Digest nodes[page_node_children]; // of a level; the last one may have come up from below
    std::size_t below = 0;            // 1: nodes[0] has
    for (const Level* level = levels_; level != levels_ + top_; ++level) {
      nodes[level->count] = nodes[0];
      std::copy_n(level->node, level->count, nodes);
      const std::size_t count = level->count + below;
      if (count > 1) nodes[0] = node(nodes, count);
      below = std::min<std::size_t>(count, 1);
    }
    return nodes[0];
  }

 private:
  struct Level {
    Digest node[page_node_children];
    std::size_t count = 0;
  };
  // Enough for any number of leaves that fit an address space: 8^18 KiB.
  Level levels_[19];
  std::ptrdiff_t top_ = 0; // levels that ever had a node
};

} // namespace

Digest page_leaf(const void* data, std::size_t bytes) noexcept {
  SHA256_CTX hash;
  SHA256_Init(&hash);
  if (bytes == page_leaf_bytes) [[likely]] {
    // The message 0x00 || data || padding fed as whole blocks, the middle ones in place: Update and
    // Final would buffer at every leaf, which costs a tenth of its time.
    unsigned char edge[64];
    const auto* from = static_cast<const unsigned char*>(data);
    edge[0] = 0;
    std::memcpy(edge + 1, from, 63);
    SHA256_Update(&hash, edge, 64);
    SHA256_Update(&hash, from + 63, 15 * 64);
    edge[0] = from[page_leaf_bytes - 1];
    pad(edge, 1, 64, page_leaf_bytes + 1);
    SHA256_Update(&hash, edge, 64);
    return state_of(hash);
  }
  static constexpr unsigned char prefix = 0;
  Digest digest;
  SHA256_Update(&hash, &prefix, 1);
  SHA256_Update(&hash, data, bytes);
  SHA256_Final(digest.data(), &hash);
  return digest;
}

Digest page_root(std::span<const Digest> leaves) noexcept {
  Tree tree;
  for (const Digest& leaf : leaves)
    tree.add(leaf);
  return tree.root();
}

Digest page_digest(const void* data, std::size_t bytes) noexcept {
  return page_digests(data, bytes, bytes).page;
}

PageDigests page_digests(const void* page, std::size_t content_bytes,
                         std::size_t page_bytes) noexcept {
  const auto* bytes = static_cast<const unsigned char*>(page);
  Tree tree;
  PageDigests digests;
  bool content_done = content_bytes == 0;
  if (content_done) digests.content = tree.root();
  for (std::size_t at = 0; at < page_bytes; at += page_leaf_bytes) {
    const std::size_t n = std::min(page_leaf_bytes, page_bytes - at);
    const bool content_ends_inside = !content_done && content_bytes < at + n;
    if (content_ends_inside) {
      Tree content = tree;
      content.add(page_leaf(bytes + at, content_bytes - at));
      digests.content = content.root();
      content_done = true;
    }
    tree.add(page_leaf(bytes + at, n));
    if (!content_done && content_bytes == at + n) {
      digests.content = tree.root();
      content_done = true;
    }
  }
  digests.page = page_bytes == content_bytes ? digests.content : tree.root();
  return digests;
}

} // namespace hitproof::schema
