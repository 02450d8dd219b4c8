// The code of the page kernels against the CPU twins, on the host: what decides an index is the
// same there as on a GPU. tests/gpu/page_kernels_test runs the kernels themselves.
#include "kernels/cuda/page_tail.h"
#include "schema/page_digest.h"
#include "tests/kernels_page/emulated.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace hitproof::kernels {
namespace {

struct Page {
  std::uint32_t bytes, content, shift; // shift: how far from 16-byte alignment it begins
};

// Pages of a list in one memory, with bytes between them that nothing may touch.
class Pages {
 public:
  Pages(std::vector<Page> pages, unsigned seed) : pages_(std::move(pages)) {
    std::size_t size = 64;
    for (const Page& p : pages_) {
      size = (size + 15) / 16 * 16 + p.shift;
      offsets_.push_back(size);
      size += p.bytes + 17;
    }
    storage_.resize(size + 64);
    memory_ = reinterpret_cast<unsigned char*>(
        (reinterpret_cast<std::uintptr_t>(storage_.data()) + 15) / 16 * 16);
    std::mt19937 random(seed);
    for (auto& byte : storage_)
      byte = static_cast<unsigned char>(random() % 3 == 0 ? 0 : random());
  }
  std::vector<PageTask> tasks(const Pages* other = nullptr) const {
    std::vector<PageTask> list;
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      PageTask t;
      t.address = reinterpret_cast<std::uint64_t>(at(i));
      if (other != nullptr) t.other = reinterpret_cast<std::uint64_t>(other->at(i));
      t.key = 0x1020304050607080u + i * 0x0202020202020202u;
      t.bytes = pages_[i].bytes;
      t.content = pages_[i].content;
      t.page = static_cast<std::uint32_t>(i);
      list.push_back(t);
    }
    return list;
  }
  unsigned char* at(std::size_t i) const { return memory_ + offsets_[i]; }
  const Page& operator[](std::size_t i) const { return pages_[i]; }
  std::size_t size() const { return pages_.size(); }
  const std::vector<unsigned char>& storage() const { return storage_; }

 private:
  std::vector<Page> pages_;
  std::vector<std::size_t> offsets_;
  std::vector<unsigned char> storage_;
  unsigned char* memory_ = nullptr;
};

std::vector<Page> mixed(unsigned seed, std::size_t count, std::uint32_t largest) {
  std::mt19937 random(seed);
  std::vector<Page> pages;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bytes = 1 + static_cast<std::uint32_t>(random()) % largest;
    const std::uint32_t content =
        i % 3 == 0 ? bytes : static_cast<std::uint32_t>(random()) % (bytes + 1);
    pages.push_back({bytes, i % 5 == 1 ? content / leaf_bytes * leaf_bytes : content,
                     i % 4 == 3 ? static_cast<std::uint32_t>(random()) % 16 : 0});
  }
  return pages;
}

void expect_digests(const Pages& pages, TileShape shape) {
  auto tasks = pages.tasks();
  const auto roots = emulated::digest(tasks, true, shape);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::size_t p = tasks[i].page;
    SCOPED_TRACE(testing::Message() << "bytes " << pages[p].bytes << " content " << pages[p].content
                                    << " shift " << pages[p].shift);
    const auto expected = schema::page_digests(pages.at(p), pages[p].content, pages[p].bytes);
    EXPECT_EQ(std::memcmp(roots[i].page, expected.page.data(), 32), 0);
    EXPECT_EQ(std::memcmp(roots[i].content, expected.content.data(), 32), 0);
    EXPECT_EQ(roots[i].nonzero, count_nonzero_bytes(pages.at(p), pages[p].content));
  }
}

void expect_digests(const Pages& pages) {
  for (const bool few : {false, true}) {
    SCOPED_TRACE(few ? "few tiles" : "many tiles");
    auto tasks = pages.tasks();
    expect_digests(pages, {0, few, few ? emulated::Digest(tasks, true).split() : 0});
  }
}

TEST(Digest, EveryLengthOfTheFirstLeaves) {
  std::vector<Page> pages;
  for (std::uint32_t bytes = 0; bytes <= 2 * leaf_bytes + 130; bytes += bytes < 140 ? 1 : 61)
    pages.push_back({bytes, bytes, 0});
  expect_digests(Pages(pages, 1));
}

TEST(Digest, ContentMayEndAnywhere) {
  std::vector<Page> pages;
  for (std::uint32_t leaves : {1u, 2u, 3u, 5u, 8u, 13u})
    for (std::uint32_t content = 0; content <= leaves * leaf_bytes; content += 341)
      pages.push_back({leaves * leaf_bytes, content, 0});
  expect_digests(Pages(pages, 2));
}

TEST(Digest, ContentMayEndWithALeaf) {
  std::vector<Page> pages;
  for (std::uint32_t leaf = 0; leaf <= 40; ++leaf)
    pages.push_back({40 * leaf_bytes + 7, leaf * leaf_bytes, 0});
  for (std::uint32_t leaf = 0; leaf <= 140; leaf += 7) // and over two tiles
    pages.push_back({140 * leaf_bytes + 7, leaf * leaf_bytes + leaf % 3, 0});
  expect_digests(Pages(pages, 3));
}

TEST(Digest, MixedSizesAndAlignments) {
  for (unsigned seed = 0; seed < 6; ++seed)
    expect_digests(Pages(mixed(seed, 60, seed % 2 == 0 ? 9000 : 70000), seed));
}

TEST(Digest, ACheckpointsMix) {
  std::vector<Page> pages{{1128448, 1114112, 0}, {1128448, 1128448, 0}, {1128448, 1060001, 0}};
  for (int i = 0; i < 12; ++i)
    pages.push_back({58752, 58752u - 1000u * static_cast<unsigned>(i), 0});
  for (int i = 0; i < 40; ++i)
    pages.push_back({2048, 1536, 0});
  expect_digests(Pages(pages, 4));
}

TEST(Digest, PagesBeyondAGroup) {
  expect_digests(Pages({{13 * 1024 * 1024 + 33, 13 * 1024 * 1024 - 1025, 0},
                        {5 * 1024 * 1024, 4 * 1024 * 1024, 0},
                        {4 * 1024 * 1024 + 1, 4 * 1024 * 1024, 0},
                        {70000, 69999, 0}},
                       5));
}

// The last block at a page goes on to its root; one that lies over two pages may be the last at
// both. In quarters, leaves go from warp to warp, and pages that fit a tile lie over two blocks.
TEST(Digest, AnyBlockMayBeTheLast) {
  const Pages pages({{200000, 180224, 0},
                     {190000, 189999, 0},
                     {180000, 100, 0},
                     {170000, 170000, 0},
                     {160000, 0, 0},
                     {58752, 50000, 1},
                     {58752, 3, 0},
                     {2047, 2047, 3}},
                    9);
  auto tasks = pages.tasks();
  const std::uint32_t tiles = emulated::Digest(tasks, true).tiles();
  const std::uint32_t split = emulated::Digest(tasks, true).split();
  ASSERT_EQ(split, 5u);
  ASSERT_GE(tiles, 8u);
  const TileShape shapes[] = {{},
                              {0, true, 0},
                              {0, true, split},
                              {4, true, split},
                              {4 * (tiles - 2), true, 2},
                              {4 * tiles, true, split}};
  for (const TileShape shape : shapes) {
    const std::uint32_t quarters = shape.quarters;
    const std::uint32_t blocks = emulated::Digest(tasks, true, shape).blocks();
    EXPECT_LE(blocks, tiles + quarters / 4 * 3);
    for (std::uint32_t last = 0; last < blocks; ++last) {
      emulated::Digest digest(tasks, true, shape);
      digest.run(last);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        SCOPED_TRACE(testing::Message()
                     << quarters << " quarters, last " << last << ", page " << i);
        const auto& bytes = pages.at(tasks[i].page);
        const auto expected = schema::page_digests(bytes, tasks[i].content, tasks[i].bytes);
        EXPECT_EQ(std::memcmp(digest.roots[i].page, expected.page.data(), 32), 0);
        EXPECT_EQ(std::memcmp(digest.roots[i].content, expected.content.data(), 32), 0);
        EXPECT_EQ(digest.roots[i].nonzero, static_cast<std::uint64_t>(std::count_if(
                                               bytes, bytes + tasks[i].content,
                                               [](unsigned char byte) { return byte != 0; })));
      }
    }
  }
}

TEST(Digest, BlocksTakeTheSlotsInOrder) {
  for (const std::uint32_t quarters : {0u, 4u, 132u, 400u}) {
    const TileShape shape{quarters};
    for (std::uint32_t block = 0; block < 500; ++block) {
      ASSERT_LT(shape.begin(block), shape.begin(block + 1));
      ASSERT_EQ(shape.block_of(shape.begin(block)), block);
      ASSERT_EQ(shape.block_of(shape.begin(block + 1) - 1), block);
    }
    EXPECT_EQ(shape.begin(shape.blocks(150 * tile_leaves)), 150 * tile_leaves);
  }
}

TEST(Digest, QuartersAreForWhatIsLeftOfFewTiles) {
  EXPECT_EQ(shape_of(434, 132, 0).quarters,
            132u); // three for each of 132, and 38: a quarter for each
  EXPECT_EQ(shape_of(396, 132, 0).quarters, 0u);
  EXPECT_EQ(shape_of(396 + 66, 132, 0).quarters, 264u);
  EXPECT_EQ(shape_of(396 + 120, 132, 0).quarters, 0u); // nearly one for each
  EXPECT_EQ(shape_of(131, 132, 0).quarters, 0u);
  EXPECT_EQ(shape_of(10000, 132, 0).quarters, 0u);
  EXPECT_EQ(shape_of(434, 0, 0).quarters, 0u); // nobody said how many there are
  EXPECT_TRUE(shape_of(1, 132, 0).few && shape_of(396, 132, 0).few && shape_of(659, 132, 0).few);
  EXPECT_EQ(processors_for_few(132, 228 * 1024), 132u); // Hopper
  EXPECT_EQ(processors_for_few(170, 100 * 1024), 0u);   // not all blocks would be at work at once
  EXPECT_EQ(shape_of(1, 132, 7).climbers, 7u);
  EXPECT_EQ(shape_of(434, 132, 46).climbers, 46u);
  EXPECT_EQ(shape_of(660, 132, 46).climbers, 0u);
  EXPECT_FALSE(shape_of(660, 132, 0).few || shape_of(434, 0, 0).few);
  for (std::uint32_t processors = 1; processors < 150; ++processors)
    for (std::uint32_t tiles = 0; tiles < 6 * processors; ++tiles) {
      const std::uint32_t quarters = shape_of(tiles, processors, 0).quarters;
      ASSERT_EQ(quarters % TileShape::parts, 0u);
      ASSERT_LE(quarters / TileShape::parts, tiles);
    }
}

TEST(Digest, SlotsStayInTheBoundThatMemoryIsTakenFor) {
  std::mt19937 random(12);
  for (int round = 0; round < 400; ++round) {
    std::vector<PageTask> tasks(1 + random() % 60);
    std::uint64_t slots = 0;
    for (PageTask& t : tasks) {
      t.bytes = 1 + static_cast<std::uint32_t>(random() % (1u << (10 + random() % 8)));
      slots += slots_of(t.bytes);
    }
    ASSERT_LE(lay_out(tasks.data(), tasks.size()).slots, most_slots(slots, tasks.size()));
  }
}

TEST(Digest, APageThatFitsATileLiesInOne) {
  std::vector<Page> list{{1128448, 1114112, 0}};
  for (int i = 0; i < 8; ++i)
    list.push_back({58752, 58752, 0}); // two a tile
  for (int i = 0; i < 9; ++i)
    list.push_back({40 * leaf_bytes, 40 * leaf_bytes, 0}); // three, and eight places stay empty
  const Pages pages(list, 10);
  auto tasks = pages.tasks();
  const PageLayout layout = lay_out(tasks.data(), tasks.size());
  std::uint32_t end = 0;
  for (const PageTask& t : tasks) {
    EXPECT_GE(t.first_slot, end);
    end = t.first_slot + slots_of(t.bytes);
    if (slots_of(t.bytes) <= tile_leaves) {
      EXPECT_EQ(t.first_slot / tile_leaves, (end - 1) / tile_leaves) << t.bytes;
    }
  }
  EXPECT_EQ(layout.slots, end);
  expect_digests(pages);
}

TEST(Digest, OneChangedByteChangesTheRoot) {
  const Pages pages({{58752, 50000, 0}}, 6);
  auto tasks = pages.tasks();
  const auto before = emulated::digest(tasks);
  pages.at(0)[49999] ^= 1;
  const auto content = emulated::digest(tasks);
  EXPECT_NE(std::memcmp(before[0].content, content[0].content, 32), 0);
  EXPECT_NE(std::memcmp(before[0].page, content[0].page, 32), 0);
  pages.at(0)[50000] ^= 1;
  const auto padding = emulated::digest(tasks);
  EXPECT_EQ(std::memcmp(content[0].content, padding[0].content, 32), 0);
  EXPECT_NE(std::memcmp(content[0].page, padding[0].page, 32), 0);
}

class Warps : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Warps, ComparisonIsTheTwins) {
  const Pages a(mixed(7, 40, 9000), 7), b(mixed(7, 40, 9000), 7);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::mt19937 random(static_cast<unsigned>(i));
    for (std::size_t k = 0; k < i; ++k)
      b.at(i)[random() % b[i].bytes] ^= static_cast<unsigned char>(1 + random() % 255);
  }
  auto tasks = a.tasks(&b);
  const auto counts = emulated::walk<Compare>(tasks, GetParam());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::size_t p = tasks[i].page;
    const auto whole = page_compare(a.at(p), b.at(p), a[p].bytes);
    const auto content = page_compare(a.at(p), b.at(p), a[p].content);
    EXPECT_EQ(compare_result(counts[i]).differ, whole.differ);
    EXPECT_EQ(compare_result(counts[i]).first, whole.first);
    EXPECT_EQ(counts[i].content, content.differ);
  }
}

TEST_P(Warps, NonzeroBytesAreTheTwins) {
  const Pages pages(mixed(8, 40, 9000), 8);
  auto tasks = pages.tasks();
  const auto counts = emulated::walk<Nonzero>(tasks, GetParam());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::size_t p = tasks[i].page;
    EXPECT_EQ(counts[i].content, count_nonzero_bytes(pages.at(p), pages[p].content));
    EXPECT_EQ(counts[i].content + counts[i].padding,
              count_nonzero_bytes(pages.at(p), pages[p].bytes));
  }
}

TEST_P(Warps, PoisonIsTheTwins) {
  const Pages device(mixed(9, 40, 9000), 9), host(mixed(9, 40, 9000), 9);
  auto tasks = device.tasks();
  emulated::walk<Fill>(tasks, GetParam());
  for (const PageTask& t : tasks)
    poison_fill(host.at(t.page), t.bytes, t.key);
  EXPECT_EQ(std::memcmp(device.at(0) - 40, host.at(0) - 40, device.storage().size() - 200), 0)
      << "also what lies between the pages";
  for (std::size_t i = 0; i < device.size(); ++i) {
    std::mt19937 random(static_cast<unsigned>(i));
    if (i % 2 == 1) std::memset(device.at(i), 0, random() % device[i].bytes);
  }
  const auto counts = emulated::walk<Residue>(tasks, GetParam());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const PageTask& t = tasks[i];
    const auto expected = poison_count(device.at(t.page), t.bytes, t.content, t.key);
    const auto found = poison_result(counts[i]);
    EXPECT_EQ(found.words, expected.words);
    EXPECT_EQ(found.content_words, expected.content_words);
    EXPECT_EQ(found.tail_bytes, expected.tail_bytes);
    EXPECT_EQ(found.first, expected.first);
  }
}

TEST_P(Warps, CopiesAreWhole) {
  const Pages to(mixed(10, 40, 9000), 10), from(mixed(10, 40, 9000), 11);
  auto tasks = to.tasks(&from);
  emulated::walk<Copy>(tasks, GetParam());
  for (std::size_t i = 0; i < to.size(); ++i)
    EXPECT_EQ(std::memcmp(to.at(i), from.at(i), to[i].bytes), 0);
}

INSTANTIATE_TEST_SUITE_P(OfALaunch, Warps, testing::Values(1u, 7u, 64u, 4096u));

TEST(Tail, GatherAndCountsAreTheTwins) {
  std::vector<unsigned char> memory(4096), gathered(96), naive(96);
  std::mt19937 random(12);
  for (auto& byte : memory)
    byte = static_cast<unsigned char>(random() % 2);
  const StridedBlock block{2, 3, 8, 2, 300, 40, 3};
  const StridedBlock contiguous{2, 3, 8, 2, 24, 8, 1};
  const auto address = [](const void* p) { return reinterpret_cast<std::uint64_t>(p); };
  TailTask task{address(memory.data()), address(memory.data() + 64), address(gathered.data()),
                address(naive.data()), block};
  TailCounts counts;
  for (std::uint32_t thread = 0; thread < 32; ++thread)
    gather_tail(task, counts, thread, 32);
  std::vector<unsigned char> expected(96), expected_naive(96);
  strided_gather(memory.data(), block, expected.data());
  strided_gather(memory.data() + 64, contiguous, expected_naive.data());
  EXPECT_EQ(gathered, expected);
  EXPECT_EQ(naive, expected_naive);
  EXPECT_EQ(counts.nonzero, count_nonzero_elements(expected.data(), 48, 2));
  EXPECT_EQ(counts.naive_nonzero, count_nonzero_elements(expected_naive.data(), 48, 2));
  EXPECT_EQ(counts.equal, count_equal_elements(expected.data(), expected_naive.data(), 48, 2));
}

TEST(Tail, StrongestChannelIsTheFirstOfTheLargest) {
  std::vector<std::uint16_t> keys{0, 0x3f80, 0xc000, 0x4000, 0x8000};
  FlipTask task{reinterpret_cast<std::uint64_t>(keys.data()), 0, 0, 5, 1, 2, 1};
  std::uint64_t strongest = 0;
  for (std::uint32_t c = 0; c < 5; ++c)
    strongest = std::max(strongest, strength(task, c));
  EXPECT_EQ(channel_of(strongest), 2u) << "-2 before 2";
  task.target = 1000;
  task.target_stride = 7;
  EXPECT_EQ(flipped_byte(task, 2), 1000u + 2 * 7 * 2 + 1);
}

} // namespace
} // namespace hitproof::kernels
