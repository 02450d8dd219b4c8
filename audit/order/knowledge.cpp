#include "audit/order/knowledge.h"

#include <algorithm>

namespace hitproof::audit::order {
namespace {

bool covers(const Clock& a, const Clock& b) {
  if (a.size() < b.size()) return false;
  for (std::size_t i = 0; i < b.size(); ++i)
    if (a[i] < b[i]) return false;
  return true;
}

} // namespace

void learn(Knowledge& into, const Knowledge& from, std::span<const std::uint32_t> via, Ways& ways) {
  if (from.clock && from.clock != into.clock) {
    if (!into.clock || covers(*from.clock, *into.clock)) {
      into.clock = from.clock;
    } else if (!covers(*into.clock, *from.clock)) {
      auto both = std::make_shared<Clock>(*into.clock);
      both->resize(std::max(into.clock->size(), from.clock->size()));
      for (std::size_t i = 0; i < from.clock->size(); ++i)
        (*both)[i] = std::max((*both)[i], (*from.clock)[i]);
      into.clock = std::move(both);
    }
  }
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
  auto more = into.clock ? std::make_shared<Clock>(*into.clock) : std::make_shared<Clock>();
  if (more->size() <= place) more->resize(place + 1);
  (*more)[place] = std::max((*more)[place], position);
  into.clock = std::move(more);
}

} // namespace hitproof::audit::order
