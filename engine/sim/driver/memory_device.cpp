// Device allocations: memfds, whole or in pieces.
#include "engine/sim/driver/memory_map.h"
#include "engine/sim/driver/settings.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace hitproof::sim {
namespace {

constexpr size_t page = 4096;
constexpr size_t smallest_piece = 512;
constexpr size_t largest_piece = 256 << 10;
constexpr size_t chunk_bytes = 16 << 20;
constexpr int classes = 10; // 512 B, 1 KiB, ... 256 KiB

std::atomic<uint64_t> used{0};

// Reserves before anything is made, so that two threads cannot both take the last bytes.
bool reserve(size_t bytes) {
  uint64_t now = used.load();
  do {
    if (bytes > memory_limit() || now > memory_limit() - bytes) return false;
  } while (!used.compare_exchange_weak(now, now + bytes));
  return true;
}

bool map_file(size_t bytes, Backing& backing) {
  const int fd = memfd_create("hitproof-sim-device", MFD_CLOEXEC);
  if (fd < 0) return false;
  struct stat status {};
  void* at = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0 && fstat(fd, &status) == 0)
    at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) {
    close(fd);
    return false;
  }
  backing.fd = fd;
  backing.inode = status.st_ino;
  backing.mapping = at;
  backing.mapping_bytes = bytes;
  return true;
}

/// Chunks are kept for reuse and never unmapped.
class Pieces {
 public:
  bool take(size_t bytes, Allocation& allocation) {
    const size_t rounded = std::max(smallest_piece, std::bit_ceil(bytes));
    const int size_class = std::countr_zero(rounded / smallest_piece);
    std::lock_guard lock(mutex_);
    auto& free = free_[size_class];
    if (free.empty()) {
      size_t at = (bump_ + rounded - 1) & ~(rounded - 1);
      if (at + rounded > chunk_bytes) {
        Backing chunk;
        if (!map_file(chunk_bytes, chunk)) return false;
        chunks_.push_back(chunk);
        at = 0;
      }
      free.push_back({static_cast<int>(chunks_.size()) - 1, at});
      bump_ = at + rounded;
    }
    place(free, size_class, allocation);
    return true;
  }
  void give_back(const Backing& backing) {
    std::lock_guard lock(mutex_);
    free_[backing.size_class].push_back({backing.chunk, backing.offset});
  }

 private:
  struct Place {
    int chunk;
    size_t offset;
  };
  void place(std::vector<Place>& free, int size_class, Allocation& allocation) {
    const Place where = free.back();
    free.pop_back();
    const Backing& chunk = chunks_[static_cast<size_t>(where.chunk)];
    allocation.backing = {.fd = chunk.fd, .inode = chunk.inode, .offset = where.offset};
    allocation.backing.chunk = where.chunk;
    allocation.backing.size_class = size_class;
    allocation.range.base = reinterpret_cast<uintptr_t>(chunk.mapping) + where.offset;
  }

  std::mutex mutex_;
  std::vector<Backing> chunks_;
  std::vector<Place> free_[classes];
  size_t bump_ = chunk_bytes;
};

Pieces& pieces() {
  static auto& instance = *new Pieces;
  return instance;
}

void end_life(const Allocation& allocation) {
  const Backing& backing = allocation.backing;
  if (backing.chunk >= 0) {
    pieces().give_back(backing);
  } else {
    munmap(backing.mapping, backing.mapping_bytes);
    close(backing.fd);
  }
  used.fetch_sub(allocation.range.size);
}

struct Retired {
  std::mutex mutex;
  std::unordered_map<uint64_t, Allocation> waiting;
};
Retired& retired() {
  static auto& instance = *new Retired;
  return instance;
}

std::optional<Allocation> take_device(CUdeviceptr ptr) {
  return MemoryMap::instance().take(
      ptr, [](const Allocation& a) { return a.range.kind == MemoryKind::device; });
}

} // namespace

uint64_t device_bytes_used() { return used.load(); }

CUresult allocate_device(size_t bytes, CUdeviceptr& ptr) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!reserve(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation allocation;
  allocation.range = {.size = bytes, .kind = MemoryKind::device};
  bool made;
  if (bytes <= largest_piece) {
    made = pieces().take(bytes, allocation);
  } else {
    made = map_file((bytes + page - 1) & ~(page - 1), allocation.backing);
    allocation.range.base = reinterpret_cast<uintptr_t>(allocation.backing.mapping);
  }
  if (!made) {
    used.fetch_sub(bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  ptr = allocation.range.base;
  MemoryMap::instance().add(allocation);
  return CUDA_SUCCESS;
}

CUresult free_device(CUdeviceptr ptr) {
  auto allocation = take_device(ptr);
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  end_life(*allocation);
  return CUDA_SUCCESS;
}

CUresult retire_device(CUdeviceptr ptr, uint64_t& token) {
  auto allocation = take_device(ptr);
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  token = allocation->range.buffer_id;
  std::lock_guard lock(retired().mutex);
  retired().waiting.emplace(token, *allocation);
  return CUDA_SUCCESS;
}

void finish_retired(uint64_t token) {
  std::unique_lock lock(retired().mutex);
  auto it = retired().waiting.find(token);
  if (it == retired().waiting.end()) return;
  const Allocation allocation = it->second;
  retired().waiting.erase(it);
  lock.unlock();
  end_life(allocation);
}

} // namespace hitproof::sim
