// Arrays of floats on 64-byte borders: what vector kernels and the matrix library like best.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace hitproof::engine {

template <class T> struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  AlignedAllocator() = default;
  template <class U> AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), alignment)); }
  void deallocate(T* p, size_t) noexcept { ::operator delete(p, alignment); }
  template <class U> bool operator==(const AlignedAllocator<U>&) const { return true; }
};

template <class T> using Aligned = std::vector<T, AlignedAllocator<T>>;
using Floats = Aligned<float>;

} // namespace hitproof::engine
