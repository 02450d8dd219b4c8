// Facts about an ABI, collected by a translation unit that has seen one set of headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace hitproof::sim::tests {

struct Fact {
  std::string name;
  uint64_t value;
};

std::vector<Fact> subset_facts();
std::vector<Fact> real_facts();

/// Shape of a parameter: what decides the register or stack place it travels in.
template <class T> constexpr uint64_t shape() {
  if constexpr (std::is_void_v<T>)
    return 1;
  else
    return sizeof(T) * 4 + (std::is_pointer_v<T> ? 3 : std::is_class_v<T> ? 2 : 1);
}

template <class R, class... P> constexpr uint64_t signature(R (*)(P...)) {
  uint64_t hash = shape<R>();
  ((hash = hash * 1099511628211ull + shape<P>()), ...);
  return hash;
}

} // namespace hitproof::sim::tests
