// Containers for millions of small things: no allocation for each, no copy of all when they grow.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace hitproof::audit::screen {

// Spreads a number over 64 bits (the finaliser of SplitMix64).
inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return mixed(mixed(a) ^ b); }
// Of a digest of 32 bytes.
inline std::uint64_t mixed(const std::uint8_t* digest) {
  std::uint64_t w[4];
  std::memcpy(w, digest, sizeof w);
  return mixed(mixed(w[0], w[1]), mixed(w[2], w[3]));
}

// A vector in pieces: elements stay where they are.
template <class T> class Pieces {
 public:
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return pieces_[i >> shift][i & mask]; }
  const T& operator[](std::size_t i) const { return pieces_[i >> shift][i & mask]; }
  T& add() {
    if ((size_ & mask) == 0) pieces_.push_back(std::make_unique<T[]>(mask + 1));
    return (*this)[size_++];
  }

 private:
  static constexpr std::size_t shift = 14, mask = (std::size_t{1} << shift) - 1;
  std::vector<std::unique_ptr<T[]>> pieces_;
  std::size_t size_ = 0;
};

// Numbers to small numbers, by open addressing.
class FlatMap {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  std::size_t size() const { return size_; }
  std::uint32_t find(std::uint64_t key) const {
    if (slots_.empty()) return none;
    for (std::size_t at = mixed(key);; ++at) {
      const Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.value == none) return none;
      if (slot.key == key) return slot.value;
    }
  }
  // What `key` has; where it has nothing, it gets `value`.
  std::uint32_t find_or_put(std::uint64_t key, std::uint32_t value) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    for (std::size_t at = mixed(key);; ++at) {
      Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.value == none) {
        slot = {key, value};
        ++size_;
        return value;
      }
      if (slot.key == key) return slot.value;
    }
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = none;
  };
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    size_ = 0;
    for (const Slot& slot : old)
      if (slot.value != none) find_or_put(slot.key, slot.value);
  }
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

// Elements by hash. They are compared where they lie, by whoever asks; elements of one hash stay in
// the order of put.
class FlatIndex {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  // The first element of this hash for which `same(element)` holds.
  template <class Same> std::uint32_t find(std::uint64_t hash, const Same& same) const {
    if (slots_.empty()) return none;
    for (std::size_t at = hash;; ++at) {
      const Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.element == none) return none;
      if (slot.hash == hash && same(slot.element)) return slot.element;
    }
  }
  void put(std::uint64_t hash, std::uint32_t element) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    std::size_t at = hash;
    while (slots_[at & (slots_.size() - 1)].element != none)
      ++at;
    slots_[at & (slots_.size() - 1)] = {hash, element};
    ++size_;
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t element = none;
  };
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    size_ = 0;
    for (const Slot& slot : old)
      if (slot.element != none) put(slot.hash, slot.element);
  }
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

} // namespace hitproof::audit::screen
