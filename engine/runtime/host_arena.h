// Pinned host memory of the cache server, up to a limit, handed out by first fit.
//
// Promise: never more pinned memory than the limit; memory that is taken stays where it is until it
// is given back. Not thread-safe: the object store holds its lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace hitproof::engine {

class HostArena {
 public:
  // Pieces are pinned as they are needed, because pinning all of a large limit at start takes
  // seconds; a sixty-fourth of the limit each, because every pinning interrupts the copies.
  static constexpr uint64_t least_piece = uint64_t{64} << 20;
  static constexpr uint64_t largest_piece = uint64_t{1} << 30;

  explicit HostArena(uint64_t limit_bytes)
      : limit_(limit_bytes), piece_(std::clamp(limit_bytes / 64, least_piece, largest_piece)) {}
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  // Pins all of the limit now. Throws DeviceError where the machine has not so much memory.
  void pin_all();
  std::byte* take(uint64_t bytes); // nullptr: no room
  void give_back(std::byte* data, uint64_t bytes);

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_; }
  static uint64_t rounded(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

 private:
  struct Piece {
    std::byte* base = nullptr;
    uint64_t bytes = 0;
    std::map<uint64_t, uint64_t> free; // offset -> bytes; neighbours are always merged
  };
  static std::byte* take_from(Piece& piece, uint64_t bytes);
  bool add_piece(uint64_t at_least);

  uint64_t limit_;
  uint64_t piece_;
  uint64_t pinned_ = 0;
  uint64_t used_ = 0;
  std::vector<Piece> pieces_;
};

} // namespace hitproof::engine
