#include "engine/sim/driver/event_page.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace hitproof::sim {
namespace {

constexpr size_t page_bytes = size_t{EventPage::slot_bytes} * EventPage::slots;

std::shared_ptr<void> map_page(int fd) {
  void* at = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return nullptr;
  return {at, [](void* p) { munmap(p, page_bytes); }};
}

struct OwnPage {
  std::shared_ptr<void> memory;
  int fd;
};

struct Pages {
  std::mutex mutex;
  std::vector<OwnPage> own;
  uint32_t hint = 0;
  uint64_t made = 0;
  std::map<uint64_t, std::weak_ptr<void>> foreign; // by inode: unique while anyone holds the memfd
};
Pages& pages() {
  static auto& instance = *new Pages;
  return instance;
}

bool claim(EventCell& cell) {
  uint32_t none = 0;
  return cell.identity.load() == 0 && cell.references.compare_exchange_strong(none, 1);
}

} // namespace

EventPage::Slot EventPage::take_slot() {
  Pages& all = pages();
  std::lock_guard lock(all.mutex);
  for (;;) {
    if (!all.own.empty()) {
      OwnPage& page = all.own.back();
      for (uint32_t tried = 0; tried < slots; ++tried) {
        const uint32_t index = (all.hint + tried) % slots;
        EventCell* cell = cell_at(page.memory.get(), index);
        if (!claim(*cell)) continue;
        all.hint = index + 1;
        cell->newest = 0;
        cell->time_ns = 0;
        cell->recorder_pid = 0;
        cell->recorder_start = 0;
        for (auto& slot : cell->finished)
          slot = 0;
        cell->identity = ++all.made;
        return {cell, page.memory, page.fd, index};
      }
    }
    const int fd = memfd_create("hitproof-sim-events", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, page_bytes) != 0) {
      if (fd >= 0) close(fd);
      throw std::bad_alloc();
    }
    auto memory = map_page(fd);
    if (!memory) {
      close(fd);
      throw std::bad_alloc();
    }
    all.own.push_back({std::move(memory), fd});
    all.hint = 0;
  }
}

bool out_of_resources(int error) { return error == ENOMEM || error == EMFILE || error == ENFILE; }

int open_foreign(int pid, int fd, uint64_t inode) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
  const int opened = open(path, O_RDWR | O_CLOEXEC);
  if (opened < 0) return -1;
  struct stat status {};
  if (fstat(opened, &status) != 0 || status.st_ino != inode) {
    close(opened);
    errno = 0;
    return -1;
  }
  return opened;
}

std::shared_ptr<void> EventPage::map_foreign(int pid, int fd, uint64_t inode) {
  const int opened = open_foreign(pid, fd, inode);
  if (opened < 0) {
    if (out_of_resources(errno)) throw std::bad_alloc();
    return nullptr;
  }
  Pages& all = pages();
  std::lock_guard lock(all.mutex);
  auto& known = all.foreign[inode];
  auto memory = known.lock();
  if (!memory) {
    struct stat status {};
    const bool whole =
        fstat(opened, &status) == 0 && static_cast<size_t>(status.st_size) >= page_bytes;
    if (whole) memory = map_page(opened);
    known = memory;
    if (whole && !memory) {
      close(opened);
      throw std::bad_alloc(); // the page is there; it is this process that has no room
    }
  }
  close(opened);
  return memory;
}

} // namespace hitproof::sim
