// One GPU through the driver API, opened at run time, with the embedded page kernels loaded: for
// tests and benchmarks. Failing calls end the program with the call's name and code.
#pragma once

#include "kernels/cuda/page_bytes.h"
#include "kernels/cuda/page_level.h"
#include "kernels/cuda/page_tail.h"

#include <cuda.h>
#include <memory>
#include <string>
#include <vector>

namespace hitproof::gpu_test {

class Device {
 public:
  // The first device; null where there is none, and `why` says so.
  static Device* open(std::string& why);

  CUdeviceptr allocate(std::size_t bytes);
  void free(CUdeviceptr p);
  void* allocate_pinned(std::size_t bytes);
  void free_pinned(void* p);
  void upload(CUdeviceptr to, const void* from, std::size_t bytes);
  void download(void* to, CUdeviceptr from, std::size_t bytes);
  void clear(CUdeviceptr p, std::size_t bytes);
  void synchronize();
  // Of one page between pinned host memory and the device, on the stream of the launches.
  void save(void* to, CUdeviceptr from, std::size_t bytes);
  void load(CUdeviceptr to, const void* from, std::size_t bytes);
  void launch(const char* kernel, unsigned blocks, unsigned threads, void** arguments);
  // Milliseconds that the device took for what `work` put on its stream.
  template <class Work> double timed(const Work& work) {
    record(0);
    work();
    record(1);
    return elapsed();
  }
  const std::string& name() const { return name_; }
  unsigned processors() const { return processors_; }
  unsigned processors_for_few() const { return processors_for_few_; }

 private:
  Device() = default;
  void record(int which);
  double elapsed();
  CUfunction function(const char* kernel);

  std::string name_;
  unsigned processors_ = 0, processors_for_few_ = 0;
  std::vector<std::pair<std::string, CUfunction>> functions_;
  CUlibrary library_ = nullptr;
  CUevent events_[2] = {};
};

// A list of pages on the device with everything that its operations need.
class Batch {
 public:
  // Addresses of the tasks are the device's. Sorts the list.
  Batch(Device& device, std::vector<kernels::PageTask> tasks);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  const std::vector<kernels::PageTask>& tasks() const { return tasks_; }
  std::uint32_t tiles() const { return rows_.tiles; }
  std::uint32_t split() const { return layout_.split; }
  kernels::TileShape shape() const { return shape_; }
  void cut(kernels::TileShape shape) { shape_ = shape; } // another one than the device asks for
  // Launch only; results stay on the device until the next call that asks for them.
  void walk(const char* kernel);
  void digest(bool nonzero);
  // Clears the results, launches, and brings the results here.
  std::vector<kernels::PageCounts> counts(const char* kernel);
  std::vector<kernels::PageRoots> roots(bool nonzero = true);

 private:
  Device& device_;
  std::vector<kernels::PageTask> tasks_;
  kernels::PageLayout layout_;
  kernels::TreeRows rows_;
  kernels::TileShape shape_;
  CUdeviceptr list_ = 0, counts_ = 0, roots_ = 0, tree_ = 0, done_ = 0;
};

} // namespace hitproof::gpu_test
