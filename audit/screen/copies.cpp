// The copies, and what order and waits need of pages and blocks.
#include "audit/screen/orders.h"

#include <algorithm>

namespace hitproof::audit::screen {
namespace {

constexpr std::int64_t no_entry = 65535;

void sort_unique(Rowids& rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
}

} // namespace

bool Orders::in_a_region(std::int64_t process, std::int64_t address) {
  const auto regions = regions_.find(process);
  if (regions == regions_.end()) return false;
  for (const Region& r : regions->second)
    if (address >= r.base && address < r.base + r.bytes) return true;
  return false;
}

void Orders::note_first(std::uint32_t transfer, std::int64_t process,
                        const std::int64_t (&values)[4], std::int64_t rowid) {
  const std::uint64_t name = std::uint64_t{transfer} << 16 | processes_.number(process);
  const auto fresh = static_cast<std::uint32_t>(firsts_.size());
  const std::uint32_t index = first_index_.find_or_put(name, fresh);
  if (index == fresh) {
    firsts_.push_back({transfer, process, values[0], values[1], values[2], values[3], rowid, rowid,
                       rowid, rowid});
    return;
  }
  FirstCopy& f = firsts_[index];
  if (values[0] < f.thread) f.thread = values[0], f.of_thread = rowid;
  if (values[1] < f.stream) f.stream = values[1], f.of_stream = rowid;
  if (values[2] < f.t_ns) f.t_ns = values[2], f.of_t_ns = rowid;
  if (values[3] > f.access_order) f.access_order = values[3], f.of_access_order = rowid;
}

void Orders::read_copies(const schema::TableMap& map, Sequences& sequences, Pages& pages) {
  for (const Entry& e : known_.entries) {
    auto& regions = regions_[e.process];
    const std::int64_t bytes = e.num_pages * e.page_stride;
    const auto same = std::find_if(regions.begin(), regions.end(),
                                   [&](const Region& r) { return r.base == e.base; });
    if (same == regions.end())
      regions.push_back({e.base, bytes});
    else
      same->bytes = std::max(same->bytes, bytes);
  }
  // Regions that follow each other or overlap as one: whether an address is in any is all that
  // counts.
  for (auto& [process, regions] : regions_) {
    std::sort(regions.begin(), regions.end(),
              [](const Region& a, const Region& b) { return a.base < b.base; });
    std::vector<Region> whole;
    for (const Region& r : regions) {
      if (!whole.empty() && r.base <= whole.back().base + whole.back().bytes)
        whole.back().bytes = std::max(whole.back().bytes, r.base + r.bytes - whole.back().base);
      else
        whole.push_back(r);
    }
    regions = std::move(whole);
  }
  std::pair<std::int64_t, std::int64_t> last_thread, last_stream, last_sum{0, -2};
  std::int64_t* sum = nullptr;
  scan(map, "copy",
       {"transfer", "src", "dst", "bytes", "stream", "result", "block", "entry", "direction",
        "access_order", "t_ns", "end_ns", "call", "call_seq"},
       sequences, [&](const schema::PageRows& rows) {
         const auto column = [&](std::size_t n) { return rows.integers(first_column + n); };
         for (std::size_t i = 0; i < rows.rows(); ++i) {
           const std::int64_t rowid = rows.rowids()[i];
           const CopyRow c{rows.integers(0)[i], column(0)[i], column(7)[i],
                           column(6)[i],        column(1)[i], column(2)[i],
                           column(3)[i],        column(8)[i], column(5)[i]};
           small(c.bytes, std::int64_t{1} << 48);
           const std::pair key{c.process, c.result == 0 ? c.direction : -1};
           if (sum == nullptr || key != last_sum) sum = &copied_[last_sum = key];
           if (c.result == 0) *sum += c.bytes;
           if (c.result == 0 && (c.direction == 0 || c.direction == 1) &&
               (c.transfer == 0 || c.entry == no_entry) &&
               in_a_region(c.process, c.direction == 0 ? c.src : c.dst))
             strays_.push_back(rowid);
           if (c.result == 0 && calls_.wants_copy(c.transfer, column(12)[i]))
             calls_.copy({c.process, rows.integers(1)[i], rows.integers(2)[i], column(10)[i],
                          column(11)[i], column(4)[i], c.transfer, column(13)[i], column(12)[i],
                          c.direction, column(9)[i]});
           if (c.transfer == 0) continue;
           if (c.entry == no_entry && c.direction == 1) unannounced_loads_.push_back(rowid);
           pages.note_copy(c);
           if (c.result != 0) continue;
           const std::int64_t thread = rows.integers(1)[i], stream = column(4)[i];
           if (const std::pair p{c.process, thread}; p != last_thread)
             copy_threads_.insert(last_thread = p);
           if (const std::pair p{c.process, stream}; p != last_stream)
             copy_streams_.insert(last_stream = p);
           const std::uint32_t index = known_.transfer_of(c.transfer);
           if (index != FlatMap::none && known_.transfers[index].direction == 0)
             note_first(index, c.process, {thread, stream, column(10)[i], column(9)[i]}, rowid);
         }
       });
}

std::int64_t Orders::saves_that_copied() const {
  std::set<std::uint32_t> transfers;
  for (const FirstCopy& f : firsts_)
    transfers.insert(f.transfer);
  return static_cast<std::int64_t>(transfers.size());
}

template <class Which> Orders::Times Orders::block_times(const Which& which) const {
  Times times;
  for (const Block& b : blocks_)
    if (which(b.op)) times[b.block].push_back(b.t_ns);
  for (auto& [block, list] : times)
    std::sort(list.begin(), list.end());
  return times;
}

namespace {

// Whether something happened from `begin` on and before `end`.
bool any_between(const std::map<std::int64_t, std::vector<std::int64_t>>& times, std::int64_t block,
                 std::int64_t begin, std::int64_t end) {
  const auto at = times.find(block);
  if (at == times.end()) return false;
  const auto next = std::lower_bound(at->second.begin(), at->second.end(), begin);
  return next != at->second.end() && *next < end;
}

} // namespace

Rowids Orders::busy_pages(const Pages& pages, std::vector<bool>& transfers) const {
  struct Use {
    std::int64_t rank, block, began, ended;
    std::uint32_t transfer;
  };
  std::vector<Use> uses;
  const Times taken = block_times([](std::int64_t op) { return op == 0 || op == 1; });
  std::set<std::pair<std::uint32_t, std::int64_t>> taken_while; // transfer, block
  std::vector<std::uint32_t> blocks;
  for (std::uint32_t t = 0; t < known_.transfers.size(); ++t) {
    const Transfer& transfer = known_.transfers[t];
    if (transfer.complete_ns == never) continue;
    blocks.clear();
    const auto [begin, end] = pages.of(t);
    for (const std::uint32_t* at = begin; at != end; ++at)
      blocks.push_back(pages.all()[*at].block);
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    for (const std::uint32_t block : blocks) {
      uses.push_back({transfer.rank, block, transfer.t_ns, transfer.complete_ns, t});
      if (any_between(taken, block, transfer.t_ns, transfer.complete_ns))
        taken_while.emplace(t, block);
    }
  }
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return std::tie(a.rank, a.block, a.began) < std::tie(b.rank, b.block, b.began);
  });
  std::set<std::pair<std::int64_t, std::int64_t>> shared; // rank, block
  std::int64_t ended = never;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const bool same =
        i > 0 && uses[i].rank == uses[i - 1].rank && uses[i].block == uses[i - 1].block;
    if (!same) ended = never;
    if (ended > uses[i].began) shared.emplace(uses[i].rank, uses[i].block);
    ended = std::max(ended, uses[i].ended);
  }
  Rowids out;
  if (shared.empty() && taken_while.empty()) return out;
  for (std::size_t i = 0; i < pages.all().size(); ++i) {
    const Page& p = pages.all()[i];
    if (shared.contains({known_.transfers[p.transfer].rank, p.block}) ||
        taken_while.contains({p.transfer, p.block})) {
      out.push_back(p.rowid);
      transfers[p.transfer] = true;
    }
  }
  return out;
}

const Lives& Orders::lives() const {
  if (lives_) return *lives_;
  std::vector<Named> rows = named_;
  rows.reserve(rows.size() + kept_operations_.size());
  for (std::size_t i = 0; i < kept_operations_.size(); ++i) {
    const Operation& o = kept_operations_[i];
    Named n;
    n.event = o.event;
    n.handle = o.handle;
    n.what = o.op;
    n.process = processes_.all()[o.process];
    n.thread = o.thread;
    n.stream = o.stream;
    n.began = o.began;
    n.ended = o.ended;
    rows.push_back(n);
  }
  lives_ = std::make_unique<Lives>(known_, std::move(rows));
  return *lives_;
}

const Orders::StepOf* Orders::newest_step(const Transfer& t) const {
  const auto after =
      std::upper_bound(steps_.begin(), steps_.end(), t, [](const Transfer& a, const StepOf& b) {
        return std::tie(a.rank, a.request, a.t_ns) < std::tie(b.rank, b.request, b.t_ns);
      });
  if (after == steps_.begin()) return nullptr;
  const StepOf& s = *std::prev(after);
  return s.rank == t.rank && s.request == t.request ? &s : nullptr;
}

// Of these transfers alone: their rows, marks and waits.
void Orders::keep_of(const std::vector<bool>& transfers, Kept& kept) const {
  Rowids &rows = kept["transfer"], &marks = kept["transfer_mark"], &waits = kept["wait"];
  for (std::size_t i = 0; i < transfers.size(); ++i)
    if (transfers[i]) rows.push_back(known_.transfers[i].rowid);
  for (const OfTransfer& m : marks_)
    if (transfers[m.transfer]) marks.push_back(m.rowid);
  for (const OfTransfer& w : waits_)
    if (transfers[w.transfer]) waits.push_back(w.rowid);
}

Kept Orders::order(const Pages& pages) const {
  Kept kept;
  std::vector<bool> odd(known_.transfers.size());
  std::vector<bool> copied(odd.size());
  for (const FirstCopy& f : firsts_) {
    const StepOf* step = newest_step(known_.transfers[f.transfer]);
    const Copied first{f.process, f.thread,       f.stream,
                       f.t_ns,    f.access_order, step ? step->t_ns : never};
    if (copied[f.transfer] || !lives().save_is_behind(f.transfer, first)) odd[f.transfer] = true;
    copied[f.transfer] = true;
  }
  for (std::uint32_t i = 0; i < odd.size(); ++i) {
    if (known_.transfers[i].direction != 1) continue;
    const Reader& r = readers_[i];
    odd[i] = !r.any || r.several || !lives().load_is_waited_for(i, r.process, r.t_ns);
  }
  kept["transfer_page"] = busy_pages(pages, odd);
  const bool any = std::find(odd.begin(), odd.end(), true) != odd.end();
  kept["order_op"] = operations_needed(any);
  keep_of(odd, kept);
  Rowids& copies = kept["copy"];
  for (const FirstCopy& f : firsts_)
    if (odd[f.transfer])
      copies.insert(copies.end(), {f.of_thread, f.of_stream, f.of_t_ns, f.of_access_order});
  sort_unique(copies);
  // Of the steps those that read a load first, and for each save the newest before it.
  Rowids &requests = kept["step_request"], &steps = kept["step"];
  if (any) {
    requests = reading_steps_;
    steps = reading_step_rows_;
  }
  for (std::size_t i = 0; i < odd.size(); ++i) {
    const StepOf* s = odd[i] ? newest_step(known_.transfers[i]) : nullptr;
    if (s == nullptr) continue;
    requests.push_back(s->rowid);
    steps.push_back(s->step_rowid);
  }
  sort_unique(requests);
  sort_unique(steps);
  return kept;
}

Kept Orders::waits(const Pages& pages) const {
  Kept kept;
  std::vector<bool> odd(known_.transfers.size());
  bool any = false;
  for (std::uint32_t t = 0; t < odd.size(); ++t) {
    if (known_.transfers[t].direction != 0) continue;
    odd[t] = !lives().save_is_waited_for(t);
    any = any || odd[t];
  }
  kept["reuse"] = reuse_;
  for (const std::uint32_t t : reused_)
    any = odd[t] = true;
  Rowids& kept_pages = kept["transfer_page"];
  const Times given = block_times([](std::int64_t op) { return op == 0; });
  for (std::uint32_t t = 0; t < known_.transfers.size(); ++t) {
    const Transfer& transfer = known_.transfers[t];
    if (transfer.direction != 0 || transfer.waited_ns == never) continue;
    const auto [begin, end] = pages.of(t);
    std::int64_t last = -1;
    bool keep = false;
    for (const std::uint32_t* at = begin; at != end; ++at) {
      const Page& p = pages.all()[*at];
      if (p.block != last)
        keep = any_between(given, last = p.block, transfer.t_ns, transfer.waited_ns);
      if (!keep) continue;
      kept_pages.push_back(p.rowid);
      any = odd[t] = true;
    }
  }
  keep_of(odd, kept);
  kept["order_op"] = operations_needed(any);
  return kept;
}

} // namespace hitproof::audit::screen
