// Shared pages that hold the cells of interprocess events.
#pragma once

#include "engine/sim/driver/event.h"

#include <cstdint>
#include <memory>

namespace hitproof::sim {

class EventPage {
 public:
  static constexpr uint32_t slot_bytes = 256;
  static constexpr uint32_t slots = 4096;

  struct Slot {
    EventCell* cell;
    std::shared_ptr<void> page;
    int fd;
    uint32_t index;
  };

  /// A cell with a fresh identity and one reference. Throws std::bad_alloc when the system gives no
  /// more shared memory.
  static Slot take_slot();
  /// Maps another process's page; null if it is gone or is not that page any more. One mapping per
  /// page, shared by all events opened from it. Throws std::bad_alloc when this process has no room
  /// or no descriptor for it.
  static std::shared_ptr<void> map_foreign(int pid, int fd, uint64_t inode);
  static EventCell* cell_at(void* page, uint32_t index) {
    return reinterpret_cast<EventCell*>(static_cast<char*>(page) + size_t{index} * slot_bytes);
  }
};

/// Opens what /proc/<pid>/fd/<fd> leads to; -1 if it is gone or has another inode (errno 0), or for
/// the reason in errno.
int open_foreign(int pid, int fd, uint64_t inode);
/// Whether errno says that this process or machine has no memory or no descriptor left.
bool out_of_resources(int error);

} // namespace hitproof::sim
