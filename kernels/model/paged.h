// Where a token's cache record lies: one table entry a block, records behind each other inside.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hitproof::kernels {

struct PagedCache {
  uint8_t* base;          // first byte of the region of one layer
  int64_t block_stride;   // bytes from block id to block id
  const int32_t* blocks;  // block ids of the sequence, in order
  int block_tokens;       // tokens of a block
};

inline uint8_t* block_base(const PagedCache& c, int64_t block_index) {
  return c.base + static_cast<int64_t>(c.blocks[block_index]) * c.block_stride;
}

}  // namespace hitproof::kernels
