// A stand-in for a device where there is none: the CPU's table with memory that the host cannot
// touch and work that waits.
//
// Promises: memory of its allocate lies behind page protection except while queued work runs, so a
// stray access of the host crashes; it starts as garbage. Every operation, copies included, runs
// when the host waits for its stream and not before. An operation that is given a pointer of the
// wrong side, released memory or no stream throws std::logic_error.
#pragma once

#include "kernels/model/table.h"

#include <functional>
#include <vector>

namespace hitproof::engine::testing {

/// What the table takes as `stream`. Used by one thread at a time.
class LateStream {
 public:
  void add(std::function<void()> work) { queue_.push_back(std::move(work)); }
  void run();

 private:
  std::vector<std::function<void()>> queue_;
};

const kernels::ModelKernels& late_device_kernels();

} // namespace hitproof::engine::testing
