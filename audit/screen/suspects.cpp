// Which transfers rule pages, and which loads rule poison, may have something to say about. The
// order of the checks is that of pages.sql.
#include "audit/screen/pages.h"

#include <algorithm>
#include <tuple>

namespace hitproof::audit::screen {
namespace {

class Judge {
 public:
  Judge(const Pages& pages, const Small& known,
        const std::function<std::int64_t(std::int64_t, std::int64_t)>& owner)
      : pages_(pages), known_(known), owner_(owner) {
    for (const Entry& e : known.entries)
      maps_[{e.process, e.rank, e.entry}].push_back(&e);
    for (const auto& [where, what] : known.declared)
      if (what.second == 1) wanted_[where.first].emplace_back(where.second, what.first);
    std::size_t most = 0;
    for (std::size_t i = 0; i < pages.all().size(); ++i)
      most = std::max<std::size_t>(most, pages.all()[i].entry);
    for (const auto& [where, what] : known.declared)
      most = std::max(most, static_cast<std::size_t>(where.second));
    sums_.resize(most + 1);
  }

  // What rule pages says of a transfer by itself.
  bool pages_odd(std::uint32_t index) {
    const Transfer& t = known_.transfers[index];
    const auto [begin, end] = pages_.of(index);
    if (begin == end || t.pages > end - begin) return true;
    bool odd = false;
    sum_up(begin, end);
    for (const std::uint32_t* at = begin; at != end && !odd; ++at)
      odd = page_odd(t, pages_.all()[*at]);
    for (const auto& [entry, kind] : wanted_[t.rank]) {
      const Sum& s = sums_[static_cast<std::size_t>(entry)];
      const bool tokens = kind == 0 || kind == 1;
      odd = odd || s.pages == 0 ||
            (tokens && (s.tokens != t.token_end - t.token_begin || s.last != t.token_end)) ||
            ((kind == 2 || kind == 3) && (s.pages != 1 || s.last != t.boundary));
    }
    clear(begin, end);
    return odd;
  }

  bool poison_odd(std::uint32_t index) {
    const Transfer& t = known_.transfers[index];
    if (t.direction != 1) return false;
    const auto [begin, end] = pages_.of(index);
    bool odd = false;
    sum_up(begin, end);
    for (const std::uint32_t* at = begin; at != end; ++at) {
      const Page& p = pages_.all()[*at];
      odd = odd || p.poisons != 1 || p.poison_odd;
    }
    for (const auto& [entry, kind] : wanted_[t.rank])
      odd = odd || sums_[static_cast<std::size_t>(entry)].pages == 0;
    clear(begin, end);
    return odd;
  }

 private:
  struct Sum {
    std::int64_t pages = 0, tokens = 0, last = 0;
  };

  void sum_up(const std::uint32_t* begin, const std::uint32_t* end) {
    for (const std::uint32_t* at = begin; at != end; ++at) {
      const Page& p = pages_.all()[*at];
      Sum& s = sums_[p.entry];
      ++s.pages;
      s.tokens += std::int64_t{p.token_end} - p.token_begin;
      s.last = std::max(s.last, std::int64_t{p.token_end});
    }
  }
  void clear(const std::uint32_t* begin, const std::uint32_t* end) {
    for (const std::uint32_t* at = begin; at != end; ++at)
      sums_[pages_.all()[*at].entry] = {};
  }

  bool page_odd(const Transfer& t, const Page& p) {
    if (p.rank != t.rank || p.block == 0 || !known_.declared.contains({t.rank, p.entry}) ||
        !as_registered(t, p))
      return true;
    if (t.direction == 1) {
      const std::int64_t owner = owner_(p.block, p.generation);
      if (owner != never && owner != t.request) return true;
    }
    if (p.held) return t.direction == 1; // a save that copied nothing is of use to no load
    return p.copies == 0 || p.copy_refused || p.right_bytes != p.all_bytes ||
           p.all_bytes != p.bytes || !p.left || !p.landed || p.digests_differ || p.digests_odd;
  }

  bool as_registered(const Transfer& t, const Page& p) {
    const std::int64_t process = pages_.process(p.process);
    const auto maps = maps_.find({process, t.rank, p.entry});
    if (maps == maps_.end()) return false;
    for (const Entry* e : maps->second)
      if (p.device == e->base + std::int64_t{p.block} * e->page_stride && p.bytes == e->page_bytes)
        return true;
    return false;
  }

  const Pages& pages_;
  const Small& known_;
  const std::function<std::int64_t(std::int64_t, std::int64_t)>& owner_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<const Entry*>> maps_;
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> wanted_;
  std::vector<Sum> sums_; // by entry, of the transfer at hand
};

using Marks = std::vector<bool>;

// Transfers that belong together: one request's saves or loads of one boundary, on all ranks.
using Together =
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<std::uint32_t>>;

Together together(const Small& known) {
  Together groups;
  for (std::uint32_t i = 0; i < known.transfers.size(); ++i) {
    const Transfer& t = known.transfers[i];
    groups[{t.request, t.direction, t.boundary}].push_back(i);
  }
  return groups;
}

void add_mates(const Together& groups, Marks& marks) {
  for (const auto& [what, members] : groups) {
    bool any = false;
    for (const std::uint32_t i : members)
      any = any || marks[i];
    for (const std::uint32_t i : members)
      if (any) marks[i] = true;
  }
}

// Saves by the host object that they wrote, each object's in the order of time.
class Objects {
 public:
  Objects(const Pages& pages, const Small& known) : pages_(pages), known_(known) {
    for (std::size_t i = 0; i < pages.all().size(); ++i) {
      const Page& p = pages.all()[i];
      if (!p.held && known.transfers[p.transfer].direction == 0)
        saves_.push_back({hash(p), p.t_ns, static_cast<std::uint32_t>(i)});
    }
    const auto before = [](const Save& a, const Save& b) {
      return std::tie(a.hash, a.t_ns) < std::tie(b.hash, b.t_ns);
    };
    std::sort(saves_.begin(), saves_.end(), before);
  }

  // Whether a loaded page does not plainly hold what the newest save into its object took.
  bool odd(const Page& load) const {
    const auto [first, last] = of(load);
    const Save* newest = nullptr;
    for (const Save* s = first; s != last; ++s) {
      const Page& p = pages_.all()[s->page];
      if (!same_object(p, load) || p.t_ns == load.t_ns) return true;
      if (p.t_ns > load.t_ns) break;
      if (newest != nullptr && pages_.all()[newest->page].t_ns == p.t_ns) return true;
      newest = s;
    }
    if (newest == nullptr) return true;
    const Page& save = pages_.all()[newest->page];
    return save.entry != load.entry || save.token_end != load.token_end ||
           known_.transfers[save.transfer].rank != known_.transfers[load.transfer].rank ||
           (save.left && load.landed && save.one != load.one);
  }
  template <class Use> void each(const Page& load, const Use& use) const {
    const auto [first, last] = of(load);
    for (const Save* s = first; s != last; ++s)
      use(pages_.all()[s->page]);
  }

 private:
  struct Save {
    std::uint64_t hash;
    std::int64_t t_ns;
    std::uint32_t page;
  };
  static std::uint64_t hash(const Page& p) {
    return mixed(mixed(static_cast<std::uint64_t>(p.object), static_cast<std::uint64_t>(p.offset)),
                 p.process);
  }
  static bool same_object(const Page& a, const Page& b) {
    return a.process == b.process && a.object == b.object && a.offset == b.offset;
  }
  std::pair<const Save*, const Save*> of(const Page& load) const {
    const std::uint64_t h = hash(load);
    const auto before = [](const Save& s, std::uint64_t value) { return s.hash < value; };
    auto first = std::lower_bound(saves_.begin(), saves_.end(), h, before);
    auto last = first;
    while (last != saves_.end() && last->hash == h)
      ++last;
    return {saves_.data() + (first - saves_.begin()), saves_.data() + (last - saves_.begin())};
  }

  const Pages& pages_;
  const Small& known_;
  std::vector<Save> saves_;
};

std::vector<std::uint32_t> marked(const Marks& marks) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < marks.size(); ++i)
    if (marks[i]) out.push_back(i);
  return out;
}

} // namespace

PageSuspects suspects_of(const Pages& pages, const Small& known,
                         const std::function<std::int64_t(std::int64_t, std::int64_t)>& owner) {
  const std::size_t n = known.transfers.size();
  Judge judge(pages, known, owner);
  const Objects objects(pages, known);
  Marks odd(n), poison(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    odd[i] = judge.pages_odd(i);
    poison[i] = judge.poison_odd(i);
    if (known.transfers[i].direction != 1) continue;
    const auto [begin, end] = pages.of(i);
    for (const std::uint32_t* at = begin; at != end && !odd[i]; ++at)
      odd[i] = objects.odd(pages.all()[*at]);
  }
  std::set<std::int64_t> ranks;
  for (const auto& [where, what] : known.declared)
    ranks.insert(where.first);
  const Together groups = together(known);
  for (const auto& [what, members] : groups) {
    std::set<std::int64_t> seen;
    for (const std::uint32_t i : members)
      seen.insert(known.transfers[i].rank);
    for (const std::uint32_t i : members)
      if (!ranks.empty() && seen.size() != ranks.size()) odd[i] = true;
  }
  // A query over these alone must see what it would see over all: the same transfer on the other
  // ranks, and for a load every save into its objects.
  add_mates(groups, odd);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (!odd[i] || known.transfers[i].direction != 1) continue;
    const auto [begin, end] = pages.of(i);
    for (const std::uint32_t* at = begin; at != end; ++at)
      objects.each(pages.all()[*at], [&](const Page& save) { odd[save.transfer] = true; });
  }
  add_mates(groups, odd);
  return {marked(odd), marked(poison)};
}

} // namespace hitproof::audit::screen
