#include "audit/screen/digests.h"

#include <algorithm>
#include <tuple>

namespace hitproof::audit::screen {
namespace {

constexpr std::int64_t unknown_token = 4294967295;

} // namespace

void Digests::read_states(const schema::TableMap& map, Sequences& sequences) {
  scan(map, "state", {"rank", "entry", "tokens", "content"}, sequences,
       [&](const schema::PageRows& rows) {
         const auto column = [&](std::size_t n) { return rows.integers(first_column + n); };
         for (std::size_t i = 0; i < rows.rows(); ++i) {
           const auto index = static_cast<std::uint32_t>(state_rows_.size());
           State& s = state_rows_.add();
           std::memcpy(s.content.at, rows.digests(first_column + 3)[i], 32);
           s.rank = column(0)[i];
           s.entry = column(1)[i];
           s.tokens = column(2)[i];
           s.rowid = rows.rowids()[i];
           state_index_.put(mixed(s.content.at), index);
         }
       });
}

template <class Use>
void Digests::each_state(const Bytes& content, std::int64_t rank, std::int64_t entry,
                         const Use& use) const {
  state_index_.find(mixed(content.at), [&](std::uint32_t at) {
    const State& s = state_rows_[at];
    if (s.rank == rank && s.entry == entry && std::memcmp(s.content.at, content.at, 32) == 0)
      use(s);
    return false;
  });
}

void Digests::read_digests(const schema::TableMap& map, Sequences& sequences) {
  odd_states_.assign(known_.transfers.size(), false);
  std::int64_t last_id = 0;
  std::uint32_t last = FlatMap::none;
  bool any = false;
  scan(map, "page_digest",
       {"transfer", "entry", "block", "token_end", "place", "moment", "nonzero", "bytes", "content",
        "page", "rank"},
       sequences, [&](const schema::PageRows& rows) {
         const auto column = [&](std::size_t n) { return rows.integers(first_column + n); };
         for (std::size_t i = 0; i < rows.rows(); ++i) {
           const std::int64_t rowid = rows.rowids()[i], id = column(0)[i];
           if (!any || id != last_id) last = known_.transfer_of(id);
           any = true;
           last_id = id;
           const DigestRow row{last,
                               column(1)[i],
                               column(2)[i],
                               column(3)[i],
                               column(4)[i],
                               column(5)[i],
                               column(6)[i],
                               column(7)[i],
                               column(10)[i],
                               rows.digests(first_column + 8)[i],
                               rows.digests(first_column + 9)[i]};
           if (row.place == 0 && row.moment == 1 && is_tail(row.entry))
             landed_tails_.push_back(rowid);
           if (last == FlatMap::none) continue;
           pages_.note_digest(row);
           if (row.place != 0) continue;
           note_state_page(last, row, rowid);
           if (row.moment != 0 || known_.transfers[last].direction != 0) continue;
           note_key(last, row, rowid);
           note_tail(last, row, rowid);
         }
       });
}

void Digests::note_state_page(std::uint32_t index, const DigestRow& row, std::int64_t rowid) {
  const Transfer& t = known_.transfers[index];
  if (row.moment != t.direction || !known_.state_entries.contains({t.rank, row.entry})) return;
  ++states_[t.direction];
  StatePage page{index, rowid, {}, row.entry};
  std::memcpy(page.content.at, row.content, 32);
  if (t.direction == 1) {
    loaded_states_.push_back(page);
    other_rank_ = other_rank_ || row.rank != t.rank;
    return;
  }
  bool as_labelled = false;
  each_state(page.content, t.rank, row.entry,
             [&](const State& s) { as_labelled = as_labelled || s.tokens == t.boundary; });
  // Of a save that is not plain all pages are needed; what is known of them is gathered later.
  if (!as_labelled) odd_states_[index] = true;
  saved_states_.push_back({index, rowid});
}

Kept Digests::boundary(const std::vector<bool>& resumed) const {
  Kept kept;
  Rowids& digests = kept["page_digest"];
  Rowids& states = kept["state"];
  // Of a load that resumed at its label, and whose every state can stand for that, one page is
  // kept: it shows that the content was observed.
  std::vector<bool> plain = resumed;
  std::vector<bool> shown(plain.size());
  for (const StatePage& page : loaded_states_) {
    const Transfer& t = known_.transfers[page.transfer];
    bool as_labelled = false;
    each_state(page.content, t.rank, page.entry,
               [&](const State& s) { as_labelled = as_labelled || s.tokens == t.boundary; });
    if (!as_labelled) plain[page.transfer] = false;
  }
  for (const StatePage& page : loaded_states_) {
    if (plain[page.transfer] && shown[page.transfer]) continue;
    shown[page.transfer] = true;
    digests.push_back(page.rowid);
    each_state(page.content, known_.transfers[page.transfer].rank, page.entry,
               [&](const State& s) { states.push_back(s.rowid); });
  }
  // One state may be what several pages hold.
  std::sort(states.begin(), states.end());
  states.erase(std::unique(states.begin(), states.end()), states.end());
  bool any_odd = false;
  for (const Member& m : saved_states_) {
    if (!odd_states_[m.group]) continue;
    digests.push_back(m.rowid);
    any_odd = true;
  }
  // Their contents are not at hand: then every state may be one of them.
  if (any_odd) kept.erase("state");
  return kept;
}

std::optional<std::vector<StandsFor>> Digests::loaded_states() const {
  if (other_rank_) return std::nullopt;
  std::map<std::int64_t, std::int64_t> pages; // by request
  // request, tokens, transfer, entry
  std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t, std::int64_t>> fitting;
  for (const StatePage& page : loaded_states_) {
    const Transfer& t = known_.transfers[page.transfer];
    ++pages[t.request];
    each_state(page.content, t.rank, page.entry, [&](const State& s) {
      fitting.emplace_back(t.request, s.tokens, page.transfer, page.entry);
    });
  }
  std::sort(fitting.begin(), fitting.end());
  fitting.erase(std::unique(fitting.begin(), fitting.end()), fitting.end());
  std::vector<StandsFor> out;
  for (const auto& [request, tokens, transfer, entry] : fitting) {
    if (out.empty() || out.back().request != request || out.back().tokens != tokens)
      out.push_back({request, tokens, 0, pages.at(request)});
    ++out.back().fitting;
  }
  return out;
}

void Digests::note_key(std::uint32_t index, const DigestRow& row, std::int64_t rowid) {
  const Transfer& t = known_.transfers[index];
  if (row.entry < 0 || row.entry > UINT16_MAX - 1) throw Unsuited("an entry out of its range");
  const auto entry = static_cast<std::uint64_t>(row.entry);
  const std::uint64_t content = std::uint64_t{t.key} << 16 | entry;
  const std::int64_t scope = entry < known_.key_scopes.size() ? known_.key_scopes[entry] : -1;
  if (scope < 0 || (scope == 1 && t.next_token == unknown_token)) {
    contents_.find_or_put(content, 0);
    return;
  }
  // Where the next token does not matter it counts as 0, as in the query: one bit tells the two.
  const std::uint64_t name = scope == 1 ? std::uint64_t{t.key_token} << 17 | 1u << 16 | entry
                                        : std::uint64_t{t.key} << 17 | entry;
  const auto fresh = static_cast<std::uint32_t>(key_contents_.size());
  const std::uint32_t group = key_groups_.find_or_put(name, fresh);
  if (group == fresh) {
    std::memcpy(key_contents_.add().value.at, row.content, 32);
    contents_.find_or_put(content, 0); // who belongs to a group that is there has one that is there
  }
  Group& g = key_contents_[group];
  g.conflicts = g.conflicts || std::memcmp(g.value.at, row.content, 32) != 0;
  key_members_.push_back({group, rowid});
}

Kept Digests::keys() const {
  Kept kept;
  Rowids& digests = kept["page_digest"];
  for (const Member& m : key_members_)
    if (key_contents_[m.group].conflicts) digests.push_back(m.rowid);
  return kept;
}

void Digests::note_tail(std::uint32_t index, const DigestRow& row, std::int64_t rowid) {
  if (!is_tail(row.entry) || row.nonzero <= 0) return;
  const Transfer& t = known_.transfers[index];
  const std::uint64_t h = mixed(mixed(row.content), static_cast<std::uint64_t>(row.entry) << 16 |
                                                        static_cast<std::uint64_t>(t.rank));
  std::uint32_t group = tail_index_.find(h, [&](std::uint32_t at) {
    const Tail& tail = tails_[at];
    return tail.rank == t.rank && tail.entry == row.entry &&
           std::memcmp(tail.content.at, row.content, 32) == 0;
  });
  if (group == FlatIndex::none) {
    group = static_cast<std::uint32_t>(tails_.size());
    Tail& tail = tails_.add();
    std::memcpy(tail.content.at, row.content, 32);
    tail.rank = t.rank;
    tail.entry = row.entry;
    tail.key = t.key;
    tail_index_.put(h, group);
  }
  tails_[group].conflicts = tails_[group].conflicts || tails_[group].key != t.key;
  tail_members_.push_back({group, rowid});
}

Rowids Digests::tails() const {
  Rowids digests = landed_tails_;
  for (const Member& m : tail_members_)
    if (tails_[m.group].conflicts) digests.push_back(m.rowid);
  return digests;
}

} // namespace hitproof::audit::screen
