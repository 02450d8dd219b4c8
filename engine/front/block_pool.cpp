#include "engine/front/block_pool.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace hitproof::engine {

size_t BlockPool::KeyHash::operator()(const Key& key) const {
  size_t word = 0; // the content is a SHA-256 already: any of its words is a good hash
  std::memcpy(&word, key.content.data(), sizeof word);
  return word ^ static_cast<size_t>(key.group) * 0x9E3779B97F4A7C15ull;
}

BlockPool::BlockPool(int num_blocks, Observer observer) : observer_(std::move(observer)) {
  if (num_blocks < 2)
    throw std::invalid_argument(
        "a block pool needs at least 2 blocks (block 0 is the null block), got " +
        std::to_string(num_blocks));
  blocks_.resize(static_cast<size_t>(num_blocks));
  for (int32_t block = 1; block < num_blocks; ++block)
    link_before(block, 0);
}

void BlockPool::link_before(int32_t block, int32_t successor) {
  Block& b = at(block);
  b.next = successor;
  b.previous = at(successor).previous;
  at(b.previous).next = block;
  at(successor).previous = block;
  ++free_count_;
}

void BlockPool::unlink(int32_t block) {
  Block& b = at(block);
  at(b.previous).next = b.next;
  at(b.next).previous = b.previous;
  b.previous = b.next = 0;
  --free_count_;
}

void BlockPool::tell(int32_t block, uint64_t request, BlockOp op) const {
  if (!observer_) return;
  const Block& b = at(block);
  observer_({request, block, b.generation, b.group, op, b.token_begin, b.token_end});
}

void BlockPool::unfile(int32_t block, uint64_t request) {
  Block& b = at(block);
  if (!b.filed) return;
  tell(block, request, BlockOp::evicted);
  contents_.erase(Key{b.group, b.content});
  b.filed = false;
}

std::optional<int32_t> BlockPool::take(uint64_t request, int group, uint32_t begin, uint32_t end) {
  if (free_count_ == 0) return std::nullopt;
  const int32_t block = blocks_[0].next;
  unlink(block);
  unfile(block, request);
  Block& b = at(block);
  ++b.generation;
  b.owners = 1;
  b.group = static_cast<uint16_t>(group);
  b.token_begin = begin;
  b.token_end = end;
  tell(block, request, BlockOp::given);
  return block;
}

void BlockPool::share(int32_t block, uint64_t request) {
  Block& b = at(block);
  if (!b.filed)
    throw std::logic_error("block " + std::to_string(block) + " is shared but not cached");
  if (b.owners++ == 0) unlink(block);
  tell(block, request, BlockOp::reused);
}

void BlockPool::release(int32_t block, uint64_t request) {
  Block& b = at(block);
  if (block == 0 || b.owners <= 0)
    throw std::logic_error("block " + std::to_string(block) + " is released but has no owner");
  tell(block, request, BlockOp::freed);
  if (--b.owners > 0) return;
  // What holds nothing findable is given out first; cached content queues up behind older content.
  link_before(block, b.filed ? 0 : blocks_[0].next);
}

void BlockPool::file(int32_t block, const PrefixHash& content, uint64_t request) {
  Block& b = at(block);
  if (b.owners <= 0)
    throw std::logic_error("block " + std::to_string(block) + " is filed but has no owner");
  if (b.filed) return;
  if (!contents_.try_emplace(Key{b.group, content}, block).second) return;
  b.filed = true;
  b.content = content;
  tell(block, request, BlockOp::cached);
}

int32_t BlockPool::find(int group, const PrefixHash& content) const {
  const auto found = contents_.find(Key{group, content});
  return found == contents_.end() ? 0 : found->second;
}

bool BlockPool::reset() {
  if (in_use() != 0) return false;
  for (int32_t block = 1; block <= capacity(); ++block)
    unfile(block, 0);
  return true;
}

} // namespace hitproof::engine
