#define OPENSSL_SUPPRESS_DEPRECATED
#include "schema/page_digest.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <openssl/sha.h>

namespace hitproof::schema {
namespace {

Digest node(const Digest& left, const Digest& right) noexcept {
  unsigned char bytes[65];
  bytes[0] = 1;
  std::memcpy(bytes + 1, left.data(), 32);
  std::memcpy(bytes + 33, right.data(), 32);
  return sha256(bytes, sizeof bytes);
}

// The tree as it grows from the left: one root for each complete subtree, largest first. A leaf
// merges as many neighbours as the count's binary form has trailing ones; folding what is left from
// the right gives RFC 6962's split at the largest power of two. So the root of a prefix can be read
// off on the way.
class Tree {
 public:
  void add(const Digest& leaf) noexcept {
    roots_[depth_++] = leaf;
    for (std::uint64_t n = count_++; n & 1; n >>= 1) {
      roots_[depth_ - 2] = node(roots_[depth_ - 2], roots_[depth_ - 1]);
      --depth_;
    }
  }

  Digest root() const noexcept {
    if (depth_ == 0) return sha256(nullptr, 0);
    Digest folded = roots_[depth_ - 1];
    for (int i = depth_ - 2; i >= 0; --i)
      folded = node(roots_[i], folded);
    return folded;
  }

 private:
  Digest roots_[65];
  int depth_ = 0;
  std::uint64_t count_ = 0;
};

} // namespace

Digest page_leaf(const void* data, std::size_t bytes) noexcept {
  static constexpr unsigned char prefix = 0;
  SHA256_CTX hash;
  Digest digest;
  SHA256_Init(&hash);
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
