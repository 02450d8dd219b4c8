// Live handles of one kind. The real driver answers "invalid handle" for a destroyed one; here
// every handle is the address of its object and is looked up before it is used.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace hitproof::sim {

template <class T> class HandleTable {
 public:
  void add(std::shared_ptr<T> object) {
    std::unique_lock lock(mutex_);
    const void* key = object.get();
    objects_.emplace(key, std::move(object));
  }
  /// Null if the handle is not live.
  std::shared_ptr<T> find(const void* handle) const {
    std::shared_lock lock(mutex_);
    auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : it->second;
  }
  /// The object, now without a handle; null if there was none.
  std::shared_ptr<T> take(const void* handle) {
    std::unique_lock lock(mutex_);
    auto it = objects_.find(handle);
    if (it == objects_.end()) return nullptr;
    auto object = std::move(it->second);
    objects_.erase(it);
    return object;
  }
  std::vector<std::shared_ptr<T>> all() const {
    std::shared_lock lock(mutex_);
    std::vector<std::shared_ptr<T>> list;
    list.reserve(objects_.size());
    for (const auto& [key, object] : objects_)
      list.push_back(object);
    return list;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<T>> objects_;
};

} // namespace hitproof::sim
