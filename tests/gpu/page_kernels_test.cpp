// The page kernels on a GPU against their CPU twins, bit for bit.
#include "schema/page_digest.h"
#include "tests/gpu/device.h"

#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace hitproof::gpu_test {
namespace {

using namespace hitproof::kernels;

Device* device = nullptr;

struct Page {
  std::uint32_t bytes, content, shift;
};

// The same pages on both sides; whole memories are compared, so that a byte written between two
// pages is seen.
class Pages {
 public:
  Pages(std::vector<Page> pages, unsigned seed) : pages_(std::move(pages)) {
    std::size_t size = 64;
    for (const Page& p : pages_) {
      size = (size + 15) / 16 * 16 + p.shift;
      offsets_.push_back(size);
      size += p.bytes + 17;
    }
    memory_.resize(size + 64);
    std::mt19937 random(seed);
    for (auto& byte : memory_)
      byte = static_cast<unsigned char>(random() % 3 == 0 ? 0 : random());
    address_ = device->allocate(memory_.size());
    push();
  }
  ~Pages() { device->free(address_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  void push() { device->upload(address_, memory_.data(), memory_.size()); }
  std::vector<unsigned char> pulled() const {
    std::vector<unsigned char> there(memory_.size());
    device->download(there.data(), address_, there.size());
    return there;
  }
  std::vector<PageTask> tasks(const Pages* other = nullptr) const {
    std::vector<PageTask> list;
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      PageTask t;
      t.address = address_ + offsets_[i];
      if (other != nullptr) t.other = other->address_ + other->offsets_[i];
      t.key = 0x1020304050607080u + i * 0x0202020202020202u;
      t.bytes = pages_[i].bytes;
      t.content = pages_[i].content;
      t.page = static_cast<std::uint32_t>(i);
      list.push_back(t);
    }
    return list;
  }
  unsigned char* at(std::size_t i) { return memory_.data() + offsets_[i]; }
  const Page& operator[](std::size_t i) const { return pages_[i]; }
  std::size_t size() const { return pages_.size(); }
  const std::vector<unsigned char>& memory() const { return memory_; }

 private:
  std::vector<Page> pages_;
  std::vector<std::size_t> offsets_;
  std::vector<unsigned char> memory_;
  CUdeviceptr address_ = 0;
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

std::vector<Page> checkpoint() {
  std::vector<Page> pages;
  for (int i = 0; i < 34; ++i)
    pages.push_back({1128448, i % 2 == 0 ? 1114112u : 1128448u, 0});
  for (int i = 0; i < 120; ++i)
    pages.push_back({58752, i % 3 == 0 ? 58752u : 50000u + static_cast<unsigned>(i), 0});
  for (int i = 0; i < 200; ++i)
    pages.push_back({2048, 1536, 0});
  return pages;
}

class Mix : public testing::TestWithParam<int> {
 protected:
  std::vector<Page> pages() const {
    if (GetParam() == 0) return checkpoint();
    if (GetParam() == 1)
      return {{5 * 1024 * 1024 + 33, 5 * 1024 * 1024 - 1025, 0}, {70000, 69999, 3}, {0, 0, 0}};
    const unsigned seed = static_cast<unsigned>(GetParam());
    return mixed(seed, 300, seed % 2 == 0 ? 9000 : 200000);
  }
};

TEST_P(Mix, DigestsAreTheTwins) {
  Pages memory(pages(), 1);
  Batch batch(*device, memory.tasks());
  const std::uint32_t tiles = batch.tiles();
  // For many tiles and for few, and in quarters: twice each, for counters must be as they were.
  std::vector<TileShape> shapes;
  const std::uint32_t split = batch.split();
  for (const TileShape shape :
       {TileShape{}, TileShape{0, true}, TileShape{0, true, split}, TileShape{4, true, split},
        TileShape{4 * (tiles - tiles / 2), true}, TileShape{4 * tiles, true, split}})
    shapes.insert(shapes.end(), 2, shape);
  for (const TileShape shape : shapes) {
    batch.cut(shape);
    const auto roots = batch.roots();
    for (std::size_t i = 0; i < roots.size(); ++i) {
      const std::size_t p = batch.tasks()[i].page;
      SCOPED_TRACE(testing::Message()
                   << shape.quarters << " quarters, bytes " << memory[p].bytes << " content "
                   << memory[p].content << " shift " << memory[p].shift);
      const auto expected = schema::page_digests(memory.at(p), memory[p].content, memory[p].bytes);
      ASSERT_EQ(std::memcmp(roots[i].page, expected.page.data(), 32), 0);
      ASSERT_EQ(std::memcmp(roots[i].content, expected.content.data(), 32), 0);
      ASSERT_EQ(roots[i].nonzero, count_nonzero_bytes(memory.at(p), memory[p].content));
    }
  }
}

TEST_P(Mix, ComparisonIsTheTwins) {
  Pages a(pages(), 2), b(pages(), 2);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::mt19937 random(static_cast<unsigned>(i));
    for (std::size_t k = 0; k < i % 50 && b[i].bytes != 0; ++k)
      b.at(i)[random() % b[i].bytes] ^= static_cast<unsigned char>(1 + random() % 255);
  }
  b.push();
  Batch batch(*device, a.tasks(&b));
  const auto counts = batch.counts("hitproof_page_compare");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::size_t p = batch.tasks()[i].page;
    const auto whole = page_compare(a.at(p), b.at(p), a[p].bytes);
    ASSERT_EQ(compare_result(counts[i]).differ, whole.differ);
    ASSERT_EQ(compare_result(counts[i]).first, whole.first);
    ASSERT_EQ(counts[i].content, page_compare(a.at(p), b.at(p), a[p].content).differ);
  }
}

TEST_P(Mix, NonzeroBytesAreTheTwins) {
  Pages memory(pages(), 3);
  Batch batch(*device, memory.tasks());
  const auto counts = batch.counts("hitproof_page_nonzero");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::size_t p = batch.tasks()[i].page;
    ASSERT_EQ(counts[i].content, count_nonzero_bytes(memory.at(p), memory[p].content));
    ASSERT_EQ(counts[i].content + counts[i].padding,
              count_nonzero_bytes(memory.at(p), memory[p].bytes));
  }
}

TEST_P(Mix, PoisonIsTheTwins) {
  Pages memory(pages(), 4);
  Batch batch(*device, memory.tasks());
  batch.walk("hitproof_page_fill");
  device->synchronize();
  for (const PageTask& t : batch.tasks())
    poison_fill(memory.at(t.page), t.bytes, t.key);
  ASSERT_EQ(memory.pulled(), memory.memory()) << "also what lies between the pages";
  for (std::size_t i = 1; i < memory.size(); i += 2) {
    std::mt19937 random(static_cast<unsigned>(i));
    if (memory[i].bytes != 0) std::memset(memory.at(i), 0, random() % memory[i].bytes);
  }
  memory.push();
  const auto counts = batch.counts("hitproof_page_residue");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const PageTask& t = batch.tasks()[i];
    const auto expected = poison_count(memory.at(t.page), t.bytes, t.content, t.key);
    const auto found = poison_result(counts[i]);
    ASSERT_EQ(found.words, expected.words);
    ASSERT_EQ(found.content_words, expected.content_words);
    ASSERT_EQ(found.tail_bytes, expected.tail_bytes);
    ASSERT_EQ(found.first, expected.first);
  }
}

TEST_P(Mix, CopiesAreWhole) {
  Pages to(pages(), 5), from(pages(), 6);
  Batch batch(*device, to.tasks(&from));
  batch.walk("hitproof_page_copy");
  device->synchronize();
  for (std::size_t i = 0; i < to.size(); ++i)
    std::memcpy(to.at(i), from.at(i), to[i].bytes);
  EXPECT_EQ(to.pulled(), to.memory());
}

INSTANTIATE_TEST_SUITE_P(OfPages, Mix, testing::Range(0, 8));

TEST(Control, AWrongByteIsNotPassedOver) {
  Pages a({{58752, 50000, 0}, {2048, 2048, 0}}, 7), b({{58752, 50000, 0}, {2048, 2048, 0}}, 7);
  Batch before(*device, b.tasks());
  const auto clean = before.roots();
  b.at(0)[50001] ^= 0x40;
  b.push();
  Batch both(*device, a.tasks(&b));
  const auto counts = both.counts("hitproof_page_compare");
  EXPECT_EQ(counts[0].padding, 1u);
  EXPECT_EQ(counts[0].content, 0u);
  EXPECT_EQ(counts[0].first, 50001u);
  EXPECT_EQ(counts[1].padding + counts[1].content, 0u);
  const auto changed = before.roots();
  EXPECT_NE(std::memcmp(changed[0].page, clean[0].page, 32), 0);
  EXPECT_EQ(std::memcmp(changed[0].content, clean[0].content, 32), 0);
}

TEST(HostMemory, IsComparedOverTheBus) {
  constexpr std::uint32_t bytes = 300'001;
  auto* const pinned = static_cast<unsigned char*>(device->allocate_pinned(bytes));
  std::mt19937 random(8);
  for (std::uint32_t i = 0; i < bytes; ++i)
    pinned[i] = static_cast<unsigned char>(random());
  const CUdeviceptr there = device->allocate(bytes);
  device->upload(there, pinned, bytes);
  pinned[299'999] ^= 1;
  PageTask task;
  task.address = there;
  task.other = reinterpret_cast<std::uint64_t>(pinned);
  task.bytes = task.content = bytes;
  Batch batch(*device, {task});
  const auto counts = batch.counts("hitproof_page_compare");
  EXPECT_EQ(counts[0].content, 1u);
  EXPECT_EQ(counts[0].first, 299'999u);
  device->free(there);
  device->free_pinned(pinned);
}

TEST(Tail, GatherAndCountsAreTheTwins) {
  const StridedBlock block{2, 4, 128, 2, 2048, 256, 2}, contiguous{2, 4, 128, 2, 512, 128, 1};
  const std::size_t bytes = block.elements() * 2, room = 16384;
  std::vector<unsigned char> memory(room);
  std::mt19937 random(9);
  for (auto& byte : memory)
    byte = static_cast<unsigned char>(random() % 2);
  const CUdeviceptr there = device->allocate(room), out = device->allocate(2 * bytes + 24);
  device->upload(there, memory.data(), room);
  device->clear(out, 2 * bytes + 24);
  TailTask task{there, there + 64, out + 24, out + 24 + bytes, block};
  CUdeviceptr counts = out;
  void* arguments[] = {&task, &counts};
  device->launch("hitproof_page_gather", 1, 256, arguments);
  device->synchronize();
  std::vector<unsigned char> found(2 * bytes + 24), expected(bytes), naive(bytes);
  device->download(found.data(), out, found.size());
  strided_gather(memory.data(), block, expected.data());
  strided_gather(memory.data() + 64, contiguous, naive.data());
  EXPECT_EQ(std::memcmp(found.data() + 24, expected.data(), bytes), 0);
  EXPECT_EQ(std::memcmp(found.data() + 24 + bytes, naive.data(), bytes), 0);
  TailCounts sums;
  std::memcpy(&sums, found.data(), sizeof sums);
  EXPECT_EQ(sums.nonzero, count_nonzero_elements(expected.data(), block.elements(), 2));
  EXPECT_EQ(sums.naive_nonzero, count_nonzero_elements(naive.data(), block.elements(), 2));
  EXPECT_EQ(sums.equal, count_equal_elements(expected.data(), naive.data(), block.elements(), 2));
  device->free(there);
  device->free(out);
}

TEST(Tail, FlipsTheStrongestChannel) {
  std::vector<std::uint16_t> keys(256, 0x3c00);
  keys[4 * 31] = 0xc480;
  keys[4 * 40] = 0x4480; // as strong, but later
  const CUdeviceptr there = device->allocate(512 + 8);
  device->upload(there, keys.data(), 512);
  FlipTask task{there, there, 0, 64, 4, 2, 4};
  CUdeviceptr address = there + 512;
  void* arguments[] = {&task, &address};
  device->launch("hitproof_page_flip", 1, 128, arguments);
  device->synchronize();
  std::uint64_t flipped = 0;
  device->download(&flipped, address, sizeof flipped);
  EXPECT_EQ(flipped, there + 4 * 31 * 2 + 1);
  std::vector<std::uint16_t> after(256);
  device->download(after.data(), there, 512);
  keys[4 * 31] ^= 0x8000;
  EXPECT_EQ(after, keys);
  device->free(there);
}

TEST(Delay, LastsAsLongAsAsked) {
  std::uint64_t ns = 20'000'000;
  void* arguments[] = {&ns};
  const double ms = device->timed([&] { device->launch("hitproof_page_delay", 1, 1, arguments); });
  EXPECT_GE(ms, 19.9);
  EXPECT_LT(ms, 40.0);
}

} // namespace
} // namespace hitproof::gpu_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string why;
  hitproof::gpu_test::device = hitproof::gpu_test::Device::open(why);
  if (hitproof::gpu_test::device == nullptr) {
    std::printf("skipped: %s\n", why.c_str());
    return 77; // ctest: SKIP_RETURN_CODE
  }
  std::printf("on %s\n", hitproof::gpu_test::device->name().c_str());
  return RUN_ALL_TESTS();
}
