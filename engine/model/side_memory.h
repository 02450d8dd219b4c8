// Memory that the kernels of a table work on, and pinned host memory for what travels.
#pragma once

#include "kernels/model/table.h"

#include <cstddef>
#include <utility>

namespace hitproof::engine {

/// One allocation of a table, owned. Throws std::runtime_error without room.
class SideMemory {
 public:
  enum class Place { side, pinned };

  SideMemory() = default;
  SideMemory(const kernels::ModelKernels& kernels, Place place, size_t bytes);
  SideMemory(SideMemory&& other) noexcept { swap(other); }
  SideMemory& operator=(SideMemory&& other) noexcept {
    SideMemory taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~SideMemory() {
    if (data_ != nullptr) release_(data_);
  }

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void swap(SideMemory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(release_, other.release_);
  }

  void* data_ = nullptr;
  size_t bytes_ = 0;
  void (*release_)(void*) = nullptr;
};

} // namespace hitproof::engine
