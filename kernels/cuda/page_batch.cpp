#include "kernels/cuda/page_batch.h"

#include <algorithm>

namespace hitproof::kernels {

PageLayout lay_out(PageTask* tasks, std::size_t count) noexcept {
  std::sort(tasks, tasks + count, [](const PageTask& a, const PageTask& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.page < b.page;
  });
  PageLayout layout;
  for (std::size_t i = 0; i < count; ++i) {
    tasks[i].first_chunk = layout.chunks;
    tasks[i].first_slot = layout.slots;
    tasks[i].first_segment = layout.segments;
    layout.chunks += chunks_of(tasks[i].bytes);
    layout.slots += slots_of(tasks[i].bytes);
    layout.segments += segments_of(tasks[i].bytes);
    if (segments_of(tasks[i].bytes) > 1) ++layout.large;
  }
  return layout;
}

} // namespace hitproof::kernels
