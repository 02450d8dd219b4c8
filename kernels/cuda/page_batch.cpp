#include "kernels/cuda/page_batch.h"

#include <algorithm>
#include <bit>

namespace hitproof::kernels {

namespace {

// Where a page of `slots` begins whose neighbour ends at `end`. One that fits a tile of leaves had
// better not lie over two: its tree would be hashed in two legs, one after the other. Worth leaving
// a few places empty, or as many as it takes once to bring pages of a half tile in step with tiles.
std::uint32_t begin_after(std::uint32_t end, std::uint32_t slots) {
  const std::uint32_t left = tile_leaves - end % tile_leaves;
  if (slots > tile_leaves || slots <= left) return end;
  return left <= tile_leaves / 8 || std::has_single_bit(slots) ? end + left : end;
}

} // namespace

PageLayout lay_out(PageTask* tasks, std::size_t count) noexcept {
  std::sort(tasks, tasks + count, [](const PageTask& a, const PageTask& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.page < b.page;
  });
  PageLayout layout;
  for (std::size_t i = 0; i < count; ++i) {
    tasks[i].first_chunk = layout.chunks;
    tasks[i].first_slot = begin_after(layout.slots, slots_of(tasks[i].bytes));
    tasks[i].first_segment = layout.segments;
    layout.chunks += chunks_of(tasks[i].bytes);
    layout.slots = tasks[i].first_slot + slots_of(tasks[i].bytes);
    layout.segments += segments_of(tasks[i].bytes);
    if (segments_of(tasks[i].bytes) > 1) ++layout.large;
    if (slots_of(tasks[i].bytes) > tile_leaves) layout.split = layout.segments;
  }
  return layout;
}

} // namespace hitproof::kernels
