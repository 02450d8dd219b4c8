#include "engine/runtime/object_store.h"

namespace hitproof::engine {

Object* ObjectStore::find(const ObjectName& name, bool any_next) {
  if (const auto exact = objects_.find(name); exact != objects_.end()) return exact->second.get();
  if (!any_next || name.next_token != unknown_token) return nullptr;
  ObjectName first = name;
  first.next_token = 0;
  const auto at = objects_.lower_bound(first);
  if (at == objects_.end() || at->first.key != name.key || at->first.entry != name.entry)
    return nullptr;
  return at->second.get();
}

Object* ObjectStore::insert(const Wanted& wanted, std::byte* data) {
  auto object = std::make_unique<Object>();
  object->name = wanted.name;
  object->id = next_id_++;
  object->data = data;
  object->bytes = wanted.bytes;
  object->use = use_.insert(use_.end(), object.get());
  Object* raw = object.get();
  objects_.emplace(wanted.name, std::move(object));
  return raw;
}

void ObjectStore::erase(Object* object) {
  arena_.give_back(object->data, object->bytes);
  use_.erase(object->use);
  objects_.erase(ObjectName(object->name));
}

bool ObjectStore::evict_one() {
  for (Object* object : use_) {
    if (object->pins != 0 || !object->visible) continue;
    erase(object);
    ++evicted_;
    return true;
  }
  return false;
}

std::vector<Reserved> ObjectStore::reserve(std::span<const Wanted> wanted) {
  const std::lock_guard lock(mutex_);
  std::vector<Reserved> pages;
  pages.reserve(wanted.size());
  // What is held is pinned first, so that making room for the rest does not evict it.
  uint64_t need = 0;
  for (const Wanted& w : wanted) {
    Object* object = find(w.name, false);
    if (object != nullptr && object->bytes == w.bytes) {
      ++object->pins;
      touch(object);
    } else {
      object = nullptr;
      need += HostArena::rounded(w.bytes);
    }
    pages.push_back({object, object != nullptr});
  }
  uint64_t evictable = arena_.limit() - arena_.used();
  for (const Object* object : use_)
    if (object->pins == 0 && object->visible) evictable += HostArena::rounded(object->bytes);
  bool room = need <= evictable;
  for (size_t i = 0; room && i < wanted.size(); ++i) {
    if (pages[i].held) continue;
    std::byte* data = arena_.take(wanted[i].bytes);
    while (data == nullptr && evict_one())
      data = arena_.take(wanted[i].bytes);
    if (data == nullptr) {
      room = false;
    } else {
      pages[i].object = insert(wanted[i], data);
      pages[i].object->pins = 1;
    }
  }
  if (room) return pages;
  for (const Reserved& page : pages) {
    if (page.held) {
      --page.object->pins;
    } else if (page.object != nullptr) {
      erase(page.object);
    }
  }
  return {};
}

void ObjectStore::drop_pin(Object* object) {
  if (--object->pins == 0 && object->doomed) erase(object);
}

void ObjectStore::commit(std::span<const Reserved> pages) {
  const std::lock_guard lock(mutex_);
  for (const Reserved& page : pages) {
    // A page held by this save is made visible by the save that copies it, and by no other.
    if (!page.held && !page.object->doomed) page.object->visible = true;
    drop_pin(page.object);
  }
}

void ObjectStore::abandon(std::span<const Reserved> pages) {
  const std::lock_guard lock(mutex_);
  for (const Reserved& page : pages) {
    if (!page.held) page.object->doomed = true;
    drop_pin(page.object);
  }
}

Object* ObjectStore::pin(const ObjectName& name, bool any_next) {
  const std::lock_guard lock(mutex_);
  Object* object = find(name, any_next);
  if (object == nullptr || !object->visible) return nullptr;
  ++object->pins;
  touch(object);
  return object;
}

void ObjectStore::unpin(std::span<Object* const> objects) {
  const std::lock_guard lock(mutex_);
  for (Object* object : objects)
    drop_pin(object);
}

void ObjectStore::fill(Stats& stats) const {
  const std::lock_guard lock(mutex_);
  stats.limit_bytes = arena_.limit();
  stats.used_bytes = arena_.used();
  stats.objects = objects_.size();
  stats.evicted_objects = evicted_;
  stats.checkpoints = 0;
  const Digest* last = nullptr;
  for (const auto& [name, object] : objects_) {
    if (last == nullptr || *last != name.key) ++stats.checkpoints;
    last = &name.key;
  }
}

} // namespace hitproof::engine
