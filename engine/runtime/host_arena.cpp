#include "engine/runtime/host_arena.h"

#include "engine/runtime/device.h"

#include <algorithm>

namespace hitproof::engine {

HostArena::~HostArena() {
  for (Piece& piece : pieces_) {
    try {
      device::release_pinned(piece.base);
    } catch (const device::DeviceError&) {
      // The process ends; the driver takes the memory back.
    }
  }
}

std::byte* HostArena::take_from(Piece& piece, uint64_t bytes) {
  const auto fit = std::find_if(piece.free.begin(), piece.free.end(),
                                [bytes](const auto& range) { return range.second >= bytes; });
  if (fit == piece.free.end()) return nullptr;
  const auto [offset, room] = *fit;
  piece.free.erase(fit);
  if (room > bytes) piece.free.emplace(offset + bytes, room - bytes);
  return piece.base + offset;
}

bool HostArena::add_piece(uint64_t at_least) {
  const uint64_t bytes = std::min(std::max(piece_, at_least), limit_ - pinned_);
  if (bytes < at_least || bytes == 0) return false;
  Piece piece;
  piece.base = static_cast<std::byte*>(device::allocate_pinned(bytes));
  piece.bytes = bytes;
  piece.free.emplace(0, bytes);
  pieces_.push_back(std::move(piece));
  pinned_ += bytes;
  return true;
}

void HostArena::pin_all() {
  while (pinned_ < limit_)
    add_piece(std::min(piece_, limit_ - pinned_));
}

std::byte* HostArena::take(uint64_t bytes) {
  const uint64_t need = rounded(bytes);
  for (Piece& piece : pieces_) {
    if (std::byte* data = take_from(piece, need)) {
      used_ += need;
      return data;
    }
  }
  if (!add_piece(need)) return nullptr;
  used_ += need;
  return take_from(pieces_.back(), need);
}

void HostArena::give_back(std::byte* data, uint64_t bytes) {
  const uint64_t size = rounded(bytes);
  const auto owner = std::find_if(pieces_.begin(), pieces_.end(), [data](const Piece& p) {
    return data >= p.base && data < p.base + p.bytes;
  });
  if (owner == pieces_.end()) return;
  auto at = owner->free.emplace(static_cast<uint64_t>(data - owner->base), size).first;
  if (const auto next = std::next(at);
      next != owner->free.end() && at->first + at->second == next->first) {
    at->second += next->second;
    owner->free.erase(next);
  }
  if (at != owner->free.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second == at->first) {
      before->second += at->second;
      owner->free.erase(at);
    }
  }
  used_ -= size;
}

} // namespace hitproof::engine
