#include "audit/order/knowledge.h"

#include <algorithm>

namespace hitproof::audit::order {
namespace {

using Places = std::vector<std::uint32_t>;

bool covers(const Places& a, const Places& b) {
  if (a.size() < b.size()) return false;
  for (std::size_t i = 0; i < b.size(); ++i)
    if (a[i] < b[i]) return false;
  return true;
}

void learn(Clock& into, const Clock& from) {
  if (!into || covers(from.places(), into.places())) {
    into = from;
  } else if (!covers(into.places(), from.places())) {
    Places both = into.places();
    both.resize(std::max(both.size(), from.places().size()));
    for (std::size_t i = 0; i < from.places().size(); ++i)
      both[i] = std::max(both[i], from.places()[i]);
    into = Clock(std::move(both));
  }
}

} // namespace

void learn(Knowledge& into, const Knowledge& from, std::span<const std::uint32_t> via, Ways& ways) {
  if (from.clock && from.clock != into.clock) learn(into.clock, from.clock);
  for (std::size_t i = 0; i < traced_most; ++i) {
    const Hop* way = from.ways[i];
    if (way == nullptr) continue;
    const auto further = via.size() - (!via.empty() && via.front() == way->record ? 1 : 0);
    if (into.ways[i] != nullptr && into.ways[i]->length <= way->length + further) continue;
    for (const std::uint32_t record : via)
      way = ways.on(way, record);
    into.ways[i] = way;
  }
}

void note(Knowledge& into, std::uint32_t place, std::uint32_t position) {
  Places more = into.clock ? into.clock.places() : Places();
  if (more.size() <= place) more.resize(place + 1);
  more[place] = std::max(more[place], position);
  into.clock = Clock(std::move(more));
}

} // namespace hitproof::audit::order
