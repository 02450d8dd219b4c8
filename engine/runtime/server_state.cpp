#include "engine/runtime/server_state.h"

#include <limits>
#include <stdexcept>

namespace hitproof::engine {

void ServerState::add(std::shared_ptr<const RankInfo> rank) {
  const std::lock_guard lock(mutex_);
  const auto [at, fresh] = ranks_.try_emplace({rank->instance, rank->rank}, rank);
  if (!fresh)
    throw std::runtime_error(
        "rank " + std::to_string(rank->rank) +
        " of this instance is registered already; give every engine its own instance number");
}

void ServerState::remove(const RankInfo& rank) {
  const std::lock_guard lock(mutex_);
  const auto at = ranks_.find({rank.instance, rank.rank});
  if (at != ranks_.end() && at->second.get() == &rank) ranks_.erase(at);
}

std::vector<std::shared_ptr<const RankInfo>> ServerState::ranks(uint64_t instance) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const RankInfo>> found;
  for (const auto& [name, rank] : ranks_)
    if (name.first == instance) found.push_back(rank);
  return found;
}

void ServerState::protect(uint64_t instance, uint64_t request, int rank,
                          std::vector<Object*> objects) {
  const std::lock_guard lock(mutex_);
  auto& list = protected_[{instance, request, rank}];
  list.insert(list.end(), objects.begin(), objects.end());
}

void ServerState::drop(Holder first, Holder last) {
  const std::lock_guard lock(mutex_);
  const auto begin = protected_.lower_bound(first);
  const auto end = protected_.upper_bound(last);
  for (auto at = begin; at != end; ++at)
    store.unpin(at->second);
  protected_.erase(begin, end);
}

namespace {
constexpr int last_rank = std::numeric_limits<int>::max();
}

void ServerState::release(uint64_t instance, uint64_t request, int rank) {
  drop({instance, request, rank}, {instance, request, rank});
}

void ServerState::release_request(uint64_t instance, uint64_t request) {
  drop({instance, request, 0}, {instance, request, last_rank});
}

void ServerState::release_instance(uint64_t instance) {
  drop({instance, 0, 0}, {instance, std::numeric_limits<uint64_t>::max(), last_rank});
}

} // namespace hitproof::engine
