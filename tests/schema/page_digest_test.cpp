#include "schema/page_digest.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace hitproof::schema {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes some_bytes(std::size_t n) {
  Bytes bytes(n);
  std::uint32_t x = 12345;
  for (auto& b : bytes)
    b = static_cast<unsigned char>((x = x * 1664525 + 1013904223) >> 24);
  return bytes;
}

// RFC 6962, section 2.1, word for word.
Digest by_the_book(const unsigned char* data, std::size_t bytes) {
  if (bytes == 0) return sha256("");
  Sha256 hash;
  if (bytes <= page_leaf_bytes) return hash.update("\0", 1).update(data, bytes).finish();
  const std::size_t leaves = (bytes + page_leaf_bytes - 1) / page_leaf_bytes;
  std::size_t left = 1;
  while (left * 2 < leaves)
    left *= 2;
  const Digest a = by_the_book(data, left * page_leaf_bytes);
  const Digest b = by_the_book(data + left * page_leaf_bytes, bytes - left * page_leaf_bytes);
  return hash.update("\1", 1).update(a.data(), 32).update(b.data(), 32).finish();
}

class PageDigestSizes : public testing::TestWithParam<std::size_t> {};

TEST_P(PageDigestSizes, EqualsTheDefinition) {
  const Bytes bytes = some_bytes(GetParam());
  EXPECT_EQ(page_digest(bytes.data(), bytes.size()), by_the_book(bytes.data(), bytes.size()));
}

TEST_P(PageDigestSizes, BothDigestsInOnePass) {
  const Bytes bytes = some_bytes(GetParam());
  for (const std::size_t less : {0u, 1u, 512u, 1023u, 1024u, 1025u, 3584u}) {
    const std::size_t content = bytes.size() - std::min<std::size_t>(less, bytes.size());
    const PageDigests digests = page_digests(bytes.data(), content, bytes.size());
    EXPECT_EQ(digests.content, by_the_book(bytes.data(), content)) << content;
    EXPECT_EQ(digests.page, by_the_book(bytes.data(), bytes.size())) << content;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PageDigestSizes,
                         testing::Values(0, 1, 54, 55, 56, 63, 64, 1023, 1024, 1025, 2048, 3072,
                                         5000, 7 * 1024, 16128, 57344, 59136, 65 * 1024 + 1));

TEST(PageDigest, FromLeavesComputedElsewhere) {
  const Bytes bytes = some_bytes(5 * 1024 + 100);
  std::vector<Digest> leaves;
  for (std::size_t at = 0; at < bytes.size(); at += page_leaf_bytes)
    leaves.push_back(page_leaf(bytes.data() + at, std::min(page_leaf_bytes, bytes.size() - at)));
  EXPECT_EQ(page_root(leaves), page_digest(bytes.data(), bytes.size()));
}

TEST(PageDigest, EveryByteCounts) {
  Bytes bytes = some_bytes(4096);
  const Digest before = page_digest(bytes.data(), bytes.size());
  for (const std::size_t at : {0u, 1023u, 1024u, 4095u}) {
    bytes[at] ^= 1;
    EXPECT_NE(page_digest(bytes.data(), bytes.size()), before);
    bytes[at] ^= 1;
  }
}

TEST(PageDigest, PaddingIsJudgedApart) {
  Bytes bytes = some_bytes(57344);
  const PageDigests before = page_digests(bytes.data(), 53760, bytes.size());
  bytes[53760] ^= 1;
  const PageDigests after = page_digests(bytes.data(), 53760, bytes.size());
  EXPECT_EQ(before.content, after.content);
  EXPECT_NE(before.page, after.page);
}

} // namespace
} // namespace hitproof::schema
