// Buffers of a step, reused by the next. Internal to this room.
#pragma once

#include "engine/model/context.h"
#include "engine/model/side_memory.h"

#include <algorithm>

namespace hitproof::engine {

/// Room that a context of growing length needs, so that it is not a new allocation every step.
inline size_t grown(size_t held, size_t wanted) { return std::max(wanted, held + held / 2); }

/// Intermediate results, in memory of the kernels' side. Only grows.
template <class T> class Scratch {
 public:
  /// At least n elements; what was there before is lost when it grows, kept otherwise. Work that is
  /// enqueued on the old memory may still run: releasing waits for it.
  T* get(const ModelContext& ctx, size_t n) {
    if (memory_.bytes() < n * sizeof(T)) {
      const size_t bytes = grown(memory_.bytes(), n * sizeof(T));
      memory_ = {};
      memory_ = SideMemory(ctx.kernels, SideMemory::Place::side, bytes);
      // Kernels read whole vectors where rows end inside one.
      ctx.kernels.zero(ctx.stream, memory_.data(), bytes);
    }
    return data();
  }
  T* data() const { return static_cast<T*>(memory_.data()); }

 private:
  SideMemory memory_;
};

/// Host memory that copies from and to the kernels' side may use. Only grows.
template <class T> class HostScratch {
 public:
  T* get(const ModelContext& ctx, size_t n) {
    if (memory_.bytes() < n * sizeof(T)) {
      const size_t bytes = grown(memory_.bytes(), n * sizeof(T));
      memory_ = {};
      memory_ = SideMemory(ctx.kernels, SideMemory::Place::pinned, bytes);
    }
    return data();
  }
  T* data() const { return static_cast<T*>(memory_.data()); }

 private:
  SideMemory memory_;
};

} // namespace hitproof::engine
