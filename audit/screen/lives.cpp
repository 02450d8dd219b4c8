#include "audit/screen/lives.h"

#include <algorithm>

namespace hitproof::audit::screen {
namespace {

constexpr std::uint8_t created = 0, recorded = 2, queried = 3, synchronised_with = 4,
                       stream_waits = 5, exported = 12, opened = 13, completion = 100, wait = 101;
// Edges that are looked at, newest first, before a copy is left to the query.
constexpr int most_edges = 64;
constexpr std::uint32_t most_rows = 1000;

bool begins_life(const Named& n) { return n.what == created || n.what == opened; }
std::int64_t place(const Named& n) { return begins_life(n) ? n.ended : n.began; }

} // namespace

Lives::Lives(const Small& known, std::vector<Named> rows)
    : known_(known), rows_(std::move(rows)), completions_(known.transfers.size()),
      waits_(known.transfers.size()) {
  for (const Entry& e : known.entries)
    if (e.origin == 0) rank_processes_.emplace(e.rank, e.process);
  std::sort(rows_.begin(), rows_.end(), [](const Named& a, const Named& b) {
    return std::tuple(a.event, place(a), !begins_life(a)) <
           std::tuple(b.event, place(b), !begins_life(b));
  });
  lives_.resize(rows_.size());
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const Named& n = rows_[i];
    const bool other = i == 0 || rows_[i - 1].event != n.event;
    if (other || begins_life(n)) {
      // Two lives that begin at once could be taken either way.
      const bool tie = !other && begins_life(rows_[i - 1]) && place(rows_[i - 1]) == place(n);
      if (tie) odd_.back() = true;
      begins_.push_back(i);
      odd_.push_back(tie);
    }
    lives_[i] = static_cast<std::uint32_t>(begins_.size() - 1);
    if (n.what == completion && n.transfer != FlatMap::none) completions_[n.transfer].push_back(i);
    if (n.what == wait && n.transfer != FlatMap::none) waits_[n.transfer].push_back(i);
    if (n.what == stream_waits) on_streams_[{n.process, n.stream}].push_back(i);
    if (n.what == queried || n.what == synchronised_with)
      on_threads_[{n.process, n.thread}].push_back(i);
  }
  begins_.push_back(static_cast<std::uint32_t>(rows_.size()));
  // A handle that is recorded over and over is left to the query: each look goes through its life.
  for (std::size_t life = 0; life < odd_.size(); ++life)
    if (begins_[life + 1] - begins_[life] > most_rows) odd_[life] = true;
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    return rows_[a].began < rows_[b].began;
  };
  for (auto* edges : {&on_streams_, &on_threads_})
    for (auto& [where, list] : *edges)
      std::sort(list.begin(), list.end(), earlier);
  join_handles();
}

// An opened event stands for the newest earlier export of the same handle.
void Lives::join_handles() {
  made_.assign(odd_.size(), nowhere);
  std::vector<std::tuple<std::uint32_t, std::int64_t, std::uint32_t>> exports;
  for (std::uint32_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].what == exported) exports.emplace_back(rows_[i].handle, rows_[i].began, i);
  std::sort(exports.begin(), exports.end());
  for (std::uint32_t life = 0; life < made_.size(); ++life) {
    const Named& first = rows_[begins_[life]];
    if (odd_[life]) continue;
    if (first.what == created) made_[life] = life;
    if (first.what != opened) continue;
    const auto after =
        std::lower_bound(exports.begin(), exports.end(), std::tuple(first.handle, first.began, 0u));
    // An export at the same moment may count or not.
    if (after != exports.end() && std::get<0>(*after) == first.handle &&
        std::get<1>(*after) == first.began)
      continue;
    if (after == exports.begin() || std::get<0>(*std::prev(after)) != first.handle) continue;
    const auto newest = std::prev(after);
    if (newest != exports.begin() && std::get<0>(*std::prev(newest)) == first.handle &&
        std::get<1>(*std::prev(newest)) == std::get<1>(*newest))
      continue;
    const std::uint32_t of = lives_[std::get<2>(*newest)];
    if (!odd_[of]) made_[life] = of;
  }
}

std::uint32_t Lives::made(std::uint32_t life) const { return made_[life]; }

template <class Use> void Lives::each(std::uint32_t life, const Use& use) const {
  for (std::uint32_t i = begins_[life]; i < begins_[life + 1]; ++i)
    use(rows_[i]);
}

// What the clocks of a program and of its probe may differ by: as in waits.sql and order.sql.
constexpr std::int64_t clocks_differ_ns = 1000;

// Whether a query or synchronisation of the same life began in the time of the wait; `when` is the
// newest begin of those that had ended with it.
bool Lives::synchronised(const Named& waiting, std::uint32_t life, std::int64_t& when) const {
  when = never;
  each(life, [&](const Named& n) {
    if ((n.what == queried || n.what == synchronised_with) && n.began <= waiting.ended &&
        n.ended - clocks_differ_ns <= waiting.ended)
      when = std::max(when, n.began);
  });
  return when != never && when >= waiting.began - clocks_differ_ns;
}

bool Lives::save_is_waited_for(std::uint32_t index) const {
  const Transfer& t = known_.transfers[index];
  const Named* announced = nullptr;
  const Named* waiting = nullptr;
  std::uint32_t of_announced = nowhere, of_waiting = nowhere;
  if (completions_[index].size() != 1 || t.complete_ns == never) return false;
  announced = &rows_[completions_[index][0]];
  of_announced = lives_[completions_[index][0]];
  for (const std::uint32_t i : waits_[index]) {
    if (rows_[i].kind != 0) continue;
    if (waiting != nullptr) return false;
    waiting = &rows_[i];
    of_waiting = lives_[i];
  }
  if (waiting == nullptr || odd_[of_announced] || odd_[of_waiting]) return false;
  // The record that the announcement means: the first after it in the same life.
  const Named* record = nullptr;
  bool tie = false;
  each(of_announced, [&](const Named& n) {
    if (n.what != recorded || n.began < announced->began) return;
    tie = tie || n.began == announced->began || (record != nullptr && n.began == record->began);
    if (record == nullptr || n.began < record->began) record = &n;
  });
  if (record == nullptr || tie || record->stream != t.stream) return false;
  const bool imported = rows_[begins_[of_waiting]].what == opened;
  if (imported ? made(of_waiting) != of_announced : of_waiting != of_announced) return false;
  std::int64_t when = never;
  if (!synchronised(*waiting, of_waiting, when) || when < record->ended) return false;
  if (waiting->rank != t.rank || !of_rank(waiting->process, t.rank)) return false;
  if (waiting->ended < t.complete_ns) return false;
  const bool delayed = t.delay_began != never && t.delay_ended != never;
  if (!delayed) return !known_.delay_asked && t.delay_began == never && t.delay_ended == never;
  return t.delay_ended - t.delay_began >= t.delay_ns && waiting->ended >= t.delay_ended;
}

bool Lives::load_is_waited_for(std::uint32_t index, std::int64_t process,
                               std::int64_t read_ns) const {
  const Transfer& t = known_.transfers[index];
  if (completions_[index].size() != 1 || t.complete_ns == never || t.complete_ns > read_ns)
    return false;
  const std::uint32_t of_announced = lives_[completions_[index][0]];
  if (odd_[of_announced]) return false;
  return std::any_of(waits_[index].begin(), waits_[index].end(), [&](std::uint32_t i) {
    const Named& waiting = rows_[i];
    std::int64_t when = never;
    return waiting.kind == 1 && waiting.process == process && waiting.ended <= read_ns &&
           !odd_[lives_[i]] && made(lives_[i]) == of_announced &&
           synchronised(waiting, lives_[i], when);
  });
}

bool Lives::any_edge(const Rows& edges, std::uint32_t index, const Copied& copied) const {
  const auto after =
      std::upper_bound(edges.begin(), edges.end(), copied.t_ns,
                       [&](std::int64_t t, std::uint32_t i) { return t < rows_[i].began; });
  int looked = 0;
  for (auto at = after; at != edges.begin() && looked < most_edges; ++looked) {
    const Named& edge = rows_[*--at];
    const std::uint32_t of = made(lives_[*at]);
    if (of == nowhere || !of_rank(rows_[begins_[of]].process, known_.transfers[index].rank))
      continue;
    bool behind = false;
    each(of, [&](const Named& n) {
      behind = behind || (n.what == recorded && n.began <= edge.began && n.began >= copied.step_ns);
    });
    if (behind) return true;
  }
  return false;
}

bool Lives::save_is_behind(std::uint32_t index, const Copied& copied) const {
  if (copied.step_ns == never || copied.access_order == 3) return false;
  const auto streams = on_streams_.find({copied.process, copied.stream});
  if (streams != on_streams_.end() && any_edge(streams->second, index, copied)) return true;
  const auto threads = on_threads_.find({copied.process, copied.thread});
  return threads != on_threads_.end() && any_edge(threads->second, index, copied);
}

} // namespace hitproof::audit::screen
