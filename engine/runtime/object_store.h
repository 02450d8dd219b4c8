// What the cache server holds: one object a page, filed under (key, entry, next token).
//
// Promises: an object is visible only after `commit`, that is after its copy has completed; a
// pinned object is neither moved nor evicted; the least recently used unpinned object goes first; a
// reservation gets all its objects or none. Thread-safe: connections reserve, stream callbacks
// commit.
#pragma once

#include "engine/runtime/host_arena.h"
#include "engine/runtime/protocol.h"

#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace hitproof::engine {

struct ObjectName {
  Digest key{}; // includes the rank
  uint16_t entry = 0;
  // For entries whose bytes depend on it (key scope 1). unknown_token: for all others; in a search,
  // any.
  uint32_t next_token = unknown_token;
  auto operator<=>(const ObjectName&) const = default;
};

struct Object {
  ObjectName name;
  uint64_t id = 0; // never used again
  std::byte* data = nullptr;
  uint64_t bytes = 0;

 private:
  friend class ObjectStore;
  bool visible = false;
  bool doomed = false; // its copy failed: never visible, gone with the last pin
  int pins = 0;
  std::list<Object*>::iterator use; // place in the order of use
};

struct Wanted {
  ObjectName name;
  uint64_t bytes = 0;
};

// One page of a reservation; pinned until commit or abandon.
struct Reserved {
  Object* object = nullptr;
  bool held =
      false; // was there already (or is being written by an earlier save of the same stream)
};

class ObjectStore {
 public:
  explicit ObjectStore(uint64_t limit_bytes) : arena_(limit_bytes) {}

  // Pins all memory before the first object, instead of a piece when it is needed.
  void pin_all() {
    const std::lock_guard lock(mutex_);
    arena_.pin_all();
  }

  // Empty: no room even after eviction; nothing is reserved then.
  std::vector<Reserved> reserve(std::span<const Wanted> wanted);
  // The copies of a reservation have completed: new objects become visible, all are unpinned.
  void commit(std::span<const Reserved> pages);
  // They have not and never will: new objects vanish.
  void abandon(std::span<const Reserved> pages);

  // Finds and pins a visible object; nullptr where there is none. Any next token will do if the
  // name has none and `any_next` is set.
  Object* pin(const ObjectName& name, bool any_next = false);
  void unpin(std::span<Object* const> objects);

  // Objects, bytes, limit, checkpoints (distinct keys), evictions.
  void fill(Stats& stats) const;

 private:
  Object* find(const ObjectName& name, bool any_next);
  Object* insert(const Wanted& wanted, std::byte* data);
  void erase(Object* object);
  void drop_pin(Object* object);
  bool evict_one();
  void touch(Object* object) { use_.splice(use_.end(), use_, object->use); }

  mutable std::mutex mutex_;
  HostArena arena_;
  std::map<ObjectName, std::unique_ptr<Object>> objects_;
  std::list<Object*> use_; // least recently used first
  uint64_t next_id_ = 1;
  uint64_t evicted_ = 0;
};

} // namespace hitproof::engine
