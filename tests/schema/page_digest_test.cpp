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

// schema/FORMAT.md, "Page digest", from the root down: the children of a node are complete trees of the
// largest power of eight leaves below the number that there are, and what is left.
Digest by_the_book(const unsigned char* data, std::size_t bytes) {
  if (bytes == 0) return sha256("");
  Sha256 hash;
  if (bytes <= 1024) return hash.update("\0", 1).update(data, bytes).finish();
  std::size_t each = 1024;
  while (each * 8 < bytes)
    each *= 8;
  hash.update("\1", 1);
  for (std::size_t at = 0; at < bytes; at += each) {
    const Digest child = by_the_book(data + at, std::min(each, bytes - at));
    hash.update(child.data(), 32);
  }
  return hash.finish();
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
                                         5000, 7 * 1024, 8 * 1024, 8 * 1024 + 1, 9 * 1024 + 1,
                                         16128, 57344, 59136, 64 * 1024, 65 * 1024 + 1, 512 * 1024,
                                         513 * 1024, 577 * 1024 + 5, 1175552));

// Roots that another implementation made (Python's hashlib, the definition bottom up) of bytes
// 0, 1, 2 ... 250, 0, 1 ...
TEST(PageDigest, KnownRoots) {
  const std::pair<std::size_t, const char*> roots[] = {
      {0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {1024, "5ebe8c44eeb4a630185f0514cf91fdb89521bfdbdc35b0e1ebf1f49afd46f460"},
      {1025, "1273b840222d605b78e4ee66ece27006d769aee87152b9e89545bd5b5931b199"},
      {8192, "326363c900497772e8267439e15fa44b056b511f8deadec40a8ab0ea072a2add"},
      {9217, "620161ec4816ed83399905d2ffdf7ec2ab636851560d5bb5dac1e302e31ccb6a"},
      {59136, "e4492cc561822cfd9a66d572dd7a4fd1b7b2dc35ac928c059a2ac22351343fb0"},
      {65537, "9587129fc95121640d1b447c6e07efe6af7291af082a3456cfe80ae5a32f45da"},
      {1175552, "54da0591948f7fb839ec364475c8282810333d76207b534679e3179eae83050b"},
  };
  for (const auto& [size, root] : roots) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<unsigned char>(i % 251);
    EXPECT_EQ(to_hex(page_digest(bytes.data(), size)), root) << size;
  }
}

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
