// The pool of block ids that all cache groups share, and the device's prefix cache over it.
//
// Promises: block 0 is the null block and never given out. A block id belongs to one group at a
// time, because the groups overlay each other in the same bytes. Each giving-out raises the id's
// generation, so that an id together with its generation names one use of its bytes for ever. A
// block may be filed under the content it holds (group and hash of the prefix); it stays findable
// after its last owner let go of it, until its id is needed again: free ids are given out uncached
// ones first, then the cached one released longest ago. Not thread safe: the engine's loop owns it.
#pragma once

#include "engine/front/prefix_hash.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace hitproof::engine {

enum class BlockOp : uint16_t { given = 0, freed = 1, cached = 2, evicted = 3, reused = 4 };

/// What happened to a block id; the pool's owner announces it.
struct BlockEvent {
  uint64_t request = 0;
  int32_t block = 0;
  uint32_t generation = 0;
  uint16_t group = 0;
  BlockOp op = BlockOp::given;
  uint32_t token_begin = 0;
  uint32_t token_end = 0;
};

class BlockPool {
 public:
  using Observer = std::function<void(const BlockEvent&)>;

  /// `num_blocks` counts the null block; throws std::invalid_argument below 2.
  explicit BlockPool(int num_blocks, Observer observer = {});

  /// Gives out a block to a request for tokens [begin, end) of a group; nothing where all are in
  /// use.
  std::optional<int32_t> take(uint64_t request, int group, uint32_t begin, uint32_t end);
  /// Another owner for a cached block that find() returned.
  void share(int32_t block, uint64_t request);
  /// One owner lets go.
  void release(int32_t block, uint64_t request);

  /// Files an owned block under its content. Where another block already holds that content, that
  /// one stays the findable one and this one remains unfiled.
  void file(int32_t block, const PrefixHash& content, uint64_t request);
  /// The block that holds the content for the group, or 0.
  int32_t find(int group, const PrefixHash& content) const;
  /// Forgets all contents. Refused (false) while any block has an owner.
  bool reset();

  uint32_t generation(int32_t block) const { return at(block).generation; }
  int group(int32_t block) const { return at(block).group; }
  int owners(int32_t block) const { return at(block).owners; }
  bool filed(int32_t block) const { return at(block).filed; }
  int capacity() const { return static_cast<int>(blocks_.size()) - 1; }
  int available() const { return free_count_; }
  int in_use() const { return capacity() - free_count_; }

 private:
  // Free blocks form a ring through element 0, which is never free itself: next of 0 is given out
  // first.
  struct Block {
    uint32_t generation = 0;
    int32_t owners = 0;
    int32_t previous = 0, next = 0;
    uint16_t group = 0;
    bool filed = false;
    uint32_t token_begin = 0, token_end = 0;
    PrefixHash content{};
  };
  struct Key {
    int group;
    PrefixHash content;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  const Block& at(int32_t block) const { return blocks_.at(static_cast<size_t>(block)); }
  Block& at(int32_t block) { return blocks_.at(static_cast<size_t>(block)); }
  void link_before(int32_t block, int32_t successor);
  void unlink(int32_t block);
  void unfile(int32_t block, uint64_t request);
  void tell(int32_t block, uint64_t request, BlockOp op) const;

  std::vector<Block> blocks_;
  std::unordered_map<Key, int32_t, KeyHash> contents_;
  Observer observer_;
  int free_count_ = 0;
};

} // namespace hitproof::engine
