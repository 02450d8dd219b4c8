#include "kernels/page_ops.h"
#include "poison/pattern.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace hitproof::poison {
namespace {

TEST(Pattern, SaysWhoseItIsFromAnySingleWord) {
  const std::uint32_t recording = recording_tag("/tmp/a-recording");
  for (const Owner owner : {Owner{0, 0, 0}, Owner{69, 1234, 7}, Owner{255, 0xfffff, 0xffff}}) {
    std::vector<unsigned char> page(4096);
    kernels::poison_fill(page.data(), page.size(), poison_key(recording, owner));
    for (std::size_t offset = 0; offset < page.size(); offset += 8) {
      std::uint64_t word;
      std::memcpy(&word, &page[offset], 8);
      EXPECT_EQ(owner_of_word(recording, word, offset), owner);
      EXPECT_NE(owner_of_word(recording, word, offset + 8), owner) << "moved poison passed";
    }
  }
}

TEST(Pattern, HasNoZeroByteAndDiffersEverywhere) {
  std::vector<unsigned char> a(1 << 16), b(1 << 16);
  kernels::poison_fill(a.data(), a.size(), poison_key(1, {3, 5, 7}));
  kernels::poison_fill(b.data(), b.size(), poison_key(1, {3, 5, 8}));
  EXPECT_EQ(kernels::count_nonzero_bytes(a.data(), a.size()), a.size());
  for (std::size_t i = 0; i < a.size(); i += 8)
    EXPECT_NE(std::memcmp(&a[i], &b[i], 8), 0);
}

TEST(Pattern, OfAnotherRecordingIsNotOurs) {
  EXPECT_NE(recording_tag("/tmp/one"), recording_tag("/tmp/two"));
  const std::uint64_t word = kernels::poison_word(poison_key(17, {1, 2, 3}), 9);
  EXPECT_TRUE(owner_of_word(17, word, 72).has_value());
  EXPECT_FALSE(owner_of_word(18, word, 72).has_value());
}

TEST(Pattern, RandomDataIsNotPoison) {
  std::mt19937_64 random(5);
  int taken = 0;
  for (int i = 0; i < 1'000'000; ++i)
    taken += owner_of_word(77, random(), 8u * (i % 512)).has_value();
  EXPECT_LT(taken, 12) << "expected about one in 2^20";
}

TEST(Residue, NamesTheOwnerOfWhatIsLeft) {
  const Owner ours{12, 345, 6}, other{12, 346, 2};
  std::vector<unsigned char> page(8192);
  std::mt19937 random(3);
  for (auto& b : page)
    b = static_cast<unsigned char>(random());
  std::vector<unsigned char> poison(8192);
  kernels::poison_fill(poison.data(), poison.size(), poison_key(9, ours));
  std::memcpy(&page[6000], &poison[6000], 8192 - 6000); // the end was never written
  kernels::poison_fill(poison.data(), poison.size(), poison_key(9, other));
  std::memcpy(&page[800], &poison[800], 160); // a neighbour's poison came along
  const auto found = find_residue(9, page.data(), page.size(), 0);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->owner, ours);
  EXPECT_EQ(found->words, (8192u - 6000u) / 8);
  EXPECT_EQ(found->first, 6000u);
  const auto part = find_residue(9, &page[800], 160, 800);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->owner, other);
  EXPECT_FALSE(find_residue(9, page.data(), 800, 0).has_value());
}

} // namespace
} // namespace hitproof::poison
