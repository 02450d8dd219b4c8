// Device memory between processes: the handle names the memfd as /proc/<pid>/fd/<fd>.
#include "engine/sim/driver/event.h"
#include "engine/sim/driver/event_page.h"
#include "engine/sim/driver/memory_map.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hitproof::sim {
namespace {

constexpr uint64_t handle_magic = 0x3159524F4D454D48ull; // "HMEMORY1"
constexpr size_t page = 4096;

struct HandleBody {
  uint64_t magic;
  int32_t pid;
  int32_t fd;
  uint64_t inode; // tells the memfd from a later one under the same number
  uint64_t offset;
  uint64_t size;
  uint64_t generation; // of the allocation in its process
};
static_assert(sizeof(HandleBody) <= sizeof(CUipcMemHandle));

// One opening at a time: a second thread must find the first one's mapping.
std::mutex& import_mutex() {
  static auto& instance = *new std::mutex;
  return instance;
}

bool is_open(const HandleBody& body, CUdeviceptr& ptr) {
  return MemoryMap::instance().any([&](Allocation& a) {
    if (a.range.kind != MemoryKind::imported || a.backing.inode != body.inode ||
        a.backing.offset != body.offset || a.range.size != body.size)
      return false;
    ++a.backing.opened;
    ptr = a.range.base;
    return true;
  });
}

} // namespace

CUresult export_memory(CUdeviceptr ptr, CUipcMemHandle& handle) {
  HandleBody body{};
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  MemoryMap::instance().with(ptr, [&](const Allocation& a) {
    // As on a real device, only memory of this process can be exported, and not pinned memory.
    if (a.range.kind != MemoryKind::device) return;
    body = {.magic = handle_magic,
            .pid = getpid(),
            .fd = a.backing.fd,
            .inode = a.backing.inode,
            .offset = a.backing.offset,
            .size = a.range.size,
            .generation = a.range.buffer_id};
    result = CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS) return result;
  std::memset(&handle, 0, sizeof handle);
  std::memcpy(&handle, &body, sizeof body);
  return CUDA_SUCCESS;
}

CUresult import_memory(const CUipcMemHandle& handle, CUdeviceptr& ptr) {
  HandleBody body;
  std::memcpy(&body, &handle, sizeof body);
  if (body.magic != handle_magic || body.size == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (body.pid == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  std::lock_guard lock(import_mutex());
  if (is_open(body, ptr)) return CUDA_SUCCESS;
  const int fd = open_foreign(body.pid, body.fd, body.inode);
  if (fd < 0) return out_of_resources(errno) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_MAP_FAILED;
  // A piece of a chunk need not begin on a page.
  const size_t begin = body.offset & ~(page - 1);
  const size_t length = body.offset + body.size - begin;
  struct stat status {};
  void* at = MAP_FAILED;
  errno = 0;
  if (fstat(fd, &status) == 0 && static_cast<uint64_t>(status.st_size) >= body.offset + body.size)
    at = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(begin));
  const bool no_room = at == MAP_FAILED && out_of_resources(errno);
  close(fd);
  if (at == MAP_FAILED) return no_room ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_MAP_FAILED;
  Allocation allocation;
  allocation.range = {.base = reinterpret_cast<uintptr_t>(at) + (body.offset - begin),
                      .size = body.size,
                      .kind = MemoryKind::imported};
  allocation.backing = {
      .inode = body.inode, .offset = body.offset, .mapping = at, .mapping_bytes = length};
  allocation.backing.opened = 1;
  ptr = allocation.range.base;
  MemoryMap::instance().add(allocation);
  return CUDA_SUCCESS;
}

CUresult close_imported(CUdeviceptr ptr) {
  std::lock_guard lock(import_mutex());
  bool last = false, known = false;
  MemoryMap::instance().with(ptr, [&](Allocation& a) {
    if (a.range.kind != MemoryKind::imported || a.range.base != ptr) return;
    known = true;
    last = --a.backing.opened == 0;
  });
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  if (!last) return CUDA_SUCCESS;
  auto allocation = MemoryMap::instance().take(ptr, [](const Allocation&) { return true; });
  munmap(allocation->backing.mapping, allocation->backing.mapping_bytes);
  return CUDA_SUCCESS;
}

} // namespace hitproof::sim
