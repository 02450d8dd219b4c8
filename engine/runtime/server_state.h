// What the connections of one cache server share: the objects, who is registered, what lookups
// protect.
#pragma once

#include "engine/runtime/breaks.h"
#include "engine/runtime/object_store.h"
#include "engine/runtime/protocol.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace hitproof::engine {

// A registered rank as lookups need it. Fixed after registration.
struct RankInfo {
  uint64_t instance = 0;
  int rank = 0;
  std::vector<NamedDigest> key_inputs;
  std::vector<EntryExport> entries;
};

class ServerState {
 public:
  ServerState(uint64_t limit_bytes, Break b) : store(limit_bytes), broken(b) {}

  void add(std::shared_ptr<const RankInfo> rank); // throws if the instance has such a rank already
  void remove(const RankInfo& rank);
  // In the order of ranks.
  std::vector<std::shared_ptr<const RankInfo>> ranks(uint64_t instance) const;

  // Objects that a lookup found for a request stay pinned until its load on that rank, a release,
  // or the end of the instance's front.
  void protect(uint64_t instance, uint64_t request, int rank, std::vector<Object*> objects);
  void release(uint64_t instance, uint64_t request, int rank);
  void release_request(uint64_t instance, uint64_t request);
  void release_instance(uint64_t instance);

  ObjectStore store;
  const Break broken;
  std::atomic<uint64_t> saves{0}, loads{0}, lookups{0}, hit_tokens{0}, query_tokens{0},
      refused_saves{0};
  std::atomic<bool> undrained{false}; // a rank went and left work on its streams that cannot end

 private:
  struct Holder {
    uint64_t instance, request;
    int rank;
    auto operator<=>(const Holder&) const = default;
  };
  void drop(Holder first, Holder last);

  mutable std::mutex mutex_;
  std::map<std::pair<uint64_t, int>, std::shared_ptr<const RankInfo>> ranks_;
  std::map<Holder, std::vector<Object*>> protected_;
};

// The name of an entry's object: only entries whose bytes depend on the next token carry it.
inline ObjectName object_name(const EntryExport& entry, uint16_t index, const Digest& key,
                              uint32_t next_token) {
  return {key, index, entry.key_scope != 0 ? next_token : unknown_token};
}

} // namespace hitproof::engine
