#include "kernels/page_ops.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace hitproof::kernels {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes random_bytes(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(n);
  for (auto& b : bytes)
    b = static_cast<unsigned char>(random());
  return bytes;
}

TEST(PageCompare, AgreesWithByteLoopAtEveryLengthAndPlace) {
  for (std::size_t n : {0u, 1u, 31u, 32u, 33u, 64u, 95u, 257u}) {
    const Bytes a = random_bytes(n, 1);
    for (std::size_t at = 0; at < n; ++at) {
      Bytes b = a;
      b[at] ^= 0x10;
      if (at + 5 < n) b[at + 5] ^= 0x01;
      const auto result = page_compare(a.data(), b.data(), n);
      EXPECT_EQ(result.first, static_cast<std::int64_t>(at));
      EXPECT_EQ(result.differ, at + 5 < n ? 2u : 1u);
    }
    const auto same = page_compare(a.data(), a.data(), n);
    EXPECT_EQ(same.differ, 0u);
    EXPECT_EQ(same.first, -1);
  }
}

TEST(NonzeroBytes, CountsEveryOne) {
  Bytes bytes(1000, 0);
  EXPECT_EQ(count_nonzero_bytes(bytes.data(), bytes.size()), 0u);
  for (std::size_t i : {0u, 31u, 32u, 992u, 999u})
    bytes[i] = 7;
  EXPECT_EQ(count_nonzero_bytes(bytes.data(), bytes.size()), 5u);
  EXPECT_EQ(count_nonzero_bytes(bytes.data(), 999), 4u);
}

TEST(Poison, VectorFormIsTheDefinition) {
  for (std::size_t n : {0u, 7u, 8u, 24u, 32u, 40u, 61u, 4096u}) {
    Bytes page(n + 1, 0xAA);
    poison_fill(page.data(), n, 0x1234567890abcdefu);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t word = poison_word(0x1234567890abcdefu, i / 8);
      EXPECT_EQ(page[i], static_cast<unsigned char>(word >> (8 * (i % 8)))) << i;
      EXPECT_NE(page[i], 0);
    }
    EXPECT_EQ(page[n], 0xAA) << "one past the end was written";
    const auto count = poison_count(page.data(), n, n, 0x1234567890abcdefu);
    EXPECT_EQ(count.words, n / 8);
    EXPECT_EQ(count.tail_bytes, n % 8);
  }
}

TEST(Poison, CountsWhatIsLeftAndWhere) {
  constexpr std::size_t n = 4096, content = 3001;
  Bytes page(n);
  poison_fill(page.data(), n, 42);
  std::memset(page.data(), 0, 1024); // a copy that stopped after 1 KiB
  const auto count = poison_count(page.data(), n, content, 42);
  EXPECT_EQ(count.words, (n - 1024) / 8);
  EXPECT_EQ(count.content_words, content / 8 - 1024 / 8);
  EXPECT_EQ(count.first, 1024);
  // Of another page, or moved by a word, it is no residue of this one.
  EXPECT_EQ(poison_count(page.data(), n, content, 44).words, 0u);
  EXPECT_EQ(poison_count(page.data() + 8, n - 8, content, 42).words, 0u);
}

TEST(StridedGather, FollowsAllThreeStrides) {
  // Two halves of three slots of four channels of two bytes, channels two apart.
  Bytes memory(400);
  for (std::size_t i = 0; i < memory.size(); i += 2) {
    const std::uint16_t index = static_cast<std::uint16_t>(i / 2);
    std::memcpy(&memory[i], &index, 2);
  }
  const StridedBlock block{2, 3, 4, 2, 100, 20, 2};
  std::vector<std::uint16_t> out(block.elements());
  strided_gather(memory.data(), block, out.data());
  std::size_t k = 0;
  for (int h = 0; h < 2; ++h)
    for (int s = 0; s < 3; ++s)
      for (int c = 0; c < 4; ++c)
        EXPECT_EQ(out[k++], h * 100 + s * 20 + c * 2);
  const StridedBlock dense{1, 2, 5, 2, 0, 5, 1};
  std::vector<std::uint16_t> row(dense.elements());
  strided_gather(memory.data(), dense, row.data());
  for (std::size_t i = 0; i < row.size(); ++i)
    EXPECT_EQ(row[i], i);
}

TEST(Elements, CountsNonzeroAndEqual) {
  const std::vector<std::uint16_t> a{0, 0x0100, 0x0001, 0, 5}, b{0, 0x0100, 0x0002, 1, 5};
  EXPECT_EQ(count_nonzero_elements(a.data(), a.size(), 2), 3u);
  EXPECT_EQ(count_equal_elements(a.data(), b.data(), a.size(), 2), 3u);
}

} // namespace
} // namespace hitproof::kernels
