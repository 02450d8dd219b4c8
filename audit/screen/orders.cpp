#include "audit/screen/orders.h"

#include <algorithm>
#include <numeric>

namespace hitproof::audit::screen {

void Orders::read_marks(const schema::TableMap& map, Sequences& sequences) {
  const auto column = [](const schema::PageRows& rows, std::size_t n, std::size_t i) {
    return rows.integers(first_column + n)[i];
  };
  scan(map, "transfer_mark", {"transfer", "event", "kind", "t_ns", "value"}, sequences,
       [&](const schema::PageRows& rows) {
         for (std::size_t i = 0; i < rows.rows(); ++i) {
           const std::int64_t kind = column(rows, 2, i), event = column(rows, 1, i),
                              t_ns = column(rows, 3, i);
           if (kind == 3)
             calls_.complete({rows.integers(0)[i], rows.integers(1)[i], rows.integers(2)[i], t_ns,
                              t_ns, 0, column(rows, 0, i)});
           const std::uint32_t index = known_.transfer_of(column(rows, 0, i));
           if (index != FlatMap::none) {
             Transfer& t = known_.transfers[index];
             if (kind == 3) t.complete_ns = std::max(t.complete_ns, t_ns);
             if (kind == 2) t.delay_ended = std::max(t.delay_ended, t_ns);
             if (kind == 1) {
               t.delay_began = std::max(t.delay_began, t_ns);
               t.delay_ns = std::max(t.delay_ns, column(rows, 4, i));
             }
             marks_.push_back({index, rows.rowids()[i]});
           }
           if (kind != 5 || event == 0) continue;
           Named n;
           n.event = event_number(rows.integers(0)[i], event);
           n.transfer = index;
           n.what = 100;
           n.process = rows.integers(0)[i];
           n.began = n.ended = t_ns;
           named_.push_back(n);
           announced_events_.push_back(n.event);
         }
       });
  scan(map, "wait", {"transfer", "event", "kind", "end_ns", "t_ns", "rank"}, sequences,
       [&](const schema::PageRows& rows) {
         for (std::size_t i = 0; i < rows.rows(); ++i) {
           const std::uint32_t index = known_.transfer_of(column(rows, 0, i));
           if (column(rows, 2, i) == 0 && index != FlatMap::none) {
             Transfer& t = known_.transfers[index];
             t.waited_ns = std::max(t.waited_ns, column(rows, 3, i));
           }
           if (index != FlatMap::none) waits_.push_back({index, rows.rowids()[i]});
           Named n;
           n.event = event_number(rows.integers(0)[i], column(rows, 1, i));
           n.transfer = index;
           n.what = 101;
           n.process = rows.integers(0)[i];
           n.began = column(rows, 4, i);
           n.ended = column(rows, 3, i);
           n.rank = column(rows, 5, i);
           n.kind = column(rows, 2, i);
           named_.push_back(n);
           announced_events_.push_back(n.event);
           calls_.wait({n.process, rows.integers(1)[i], rows.integers(2)[i], n.began, n.ended,
                        column(rows, 1, i), column(rows, 0, i)});
         }
       });
}

std::uint32_t Orders::event_number(std::int64_t process, std::int64_t event) {
  const auto [at, fresh] =
      events_.try_emplace({process, event}, static_cast<std::uint32_t>(parents_.size()));
  if (fresh) parents_.push_back(at->second);
  return at->second;
}

std::uint32_t Orders::root(std::uint32_t event) const {
  while (parents_[event] != event)
    event = parents_[event] = parents_[parents_[event]];
  return event;
}

void Orders::join(std::uint32_t a, std::uint32_t b) { parents_[root(a)] = root(b); }

// Creation, record, query, synchronisation, stream wait, export and opening of an event are all
// that the queries name; other rows, and those of no event, are counted and left out.
void Orders::read_operations(const schema::TableMap& map, Sequences& sequences) {
  scan(map, "order_op",
       {"event", "op", "result", "stream", "t_ns", "end_ns", "handle", "device", "call"}, sequences,
       [&](const schema::PageRows& rows) {
         const auto column = [&](std::size_t n) { return rows.integers(first_column + n); };
         const std::int64_t *process = rows.integers(0), *thread = rows.integers(1),
                            *event = column(0), *op = column(1), *result = column(2),
                            *stream = column(3), *began = column(4), *ended = column(5);
         const std::uint8_t* const* handle = rows.digests(first_column + 6);
         operations_ += static_cast<std::int64_t>(rows.rows());
         for (std::size_t i = 0; i < rows.rows(); ++i) {
           if (result[i] == 0)
             calls_.operation({process[i],
                               thread[i],
                               rows.integers(2)[i],
                               began[i],
                               ended[i],
                               stream[i],
                               event[i],
                               op[i],
                               column(7)[i],
                               column(8)[i],
                               {reinterpret_cast<const char*>(handle[i]), 32}});
           const std::uint16_t number = processes_.number(process[i]);
           if (first_rows_.size() < processes_.all().size())
             first_rows_.try_emplace(process[i], rows.rowids()[i]);
           const bool named =
               op[i] == 0 || (op[i] >= 2 && op[i] <= 5) || op[i] == 12 || op[i] == 13;
           if (!named || event[i] == 0 || result[i] != 0) continue;
           Operation& o = kept_operations_.add();
           o.event = event_number(process[i], event[i]);
           o.process = number;
           o.op = static_cast<std::uint8_t>(op[i]);
           o.thread = thread[i];
           o.stream = stream[i];
           o.began = began[i];
           o.ended = ended[i];
           o.rowid = rows.rowids()[i];
           if (op[i] < 12) continue;
           std::array<std::uint8_t, 32> bytes;
           std::memcpy(bytes.data(), handle[i], 32);
           o.handle = handles_.try_emplace(bytes, o.event).first->second;
           join(o.event, o.handle);
         }
       });
}

Rowids Orders::operations_needed(bool any) const {
  std::vector<bool> needed(parents_.size());
  for (const std::uint32_t event : announced_events_)
    needed[root(event)] = true;
  for (std::size_t i = 0; i < kept_operations_.size(); ++i) {
    const Operation& o = kept_operations_[i];
    if (o.op < 3 || o.op > 5 || needed[root(o.event)]) continue;
    const std::int64_t process = processes_.all()[o.process];
    if (copy_threads_.contains({process, o.thread}) || copy_streams_.contains({process, o.stream}))
      needed[root(o.event)] = true;
  }
  Rowids out;
  for (const auto& [process, rowid] : first_rows_)
    out.push_back(rowid); // so that it shows that the process was watched
  for (std::size_t i = 0; any && i < kept_operations_.size(); ++i)
    if (needed[root(kept_operations_[i].event)]) out.push_back(kept_operations_[i].rowid);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void Orders::read_blocks(const schema::TableMap& map, Sequences& sequences) {
  scan(map, "block", {"block", "generation", "op", "request", "t_ns"}, sequences,
       [&](const schema::PageRows& rows) {
         const auto column = [&](std::size_t n) { return rows.integers(first_column + n); };
         for (std::size_t i = 0; i < rows.rows(); ++i) {
           const Block b{column(0)[i], column(1)[i], column(2)[i],
                         column(3)[i], column(4)[i], rows.rowids()[i]};
           blocks_.push_back(b);
           if (b.op != 0 || b.request == 0) continue;
           auto& owner = owners_.try_emplace({b.block, b.generation}, b.request).first->second;
           owner = std::max(owner, b.request);
         }
       });
}

std::int64_t Orders::owner(std::int64_t block, std::int64_t generation) const {
  const auto at = owners_.find({block, generation});
  return at == owners_.end() ? never : at->second;
}

Rowids Orders::rows_of_blocks(const std::set<std::uint32_t>& blocks) const {
  Rowids out;
  for (const Block& b : blocks_)
    if (b.block >= 0 && b.block <= UINT32_MAX &&
        blocks.contains(static_cast<std::uint32_t>(b.block)))
      out.push_back(b.rowid);
  return out;
}

void Orders::read_steps(const schema::TableMap& map, Sequences& sequences) {
  struct Step : order::StepRow {
    std::int64_t rowid;
    bool operator<(const Step& o) const {
      return std::tie(step, rank, process) < std::tie(o.step, o.rank, o.process);
    }
  };
  std::vector<Step> all;
  scan(map, "step", {"step", "rank", "t_ns", "end_ns"}, sequences,
       [&](const schema::PageRows& rows) {
         const auto column = [&](std::size_t n) { return rows.integers(first_column + n); };
         for (std::size_t i = 0; i < rows.rows(); ++i)
           all.push_back({{column(0)[i], column(1)[i], rows.integers(0)[i], column(2)[i],
                           column(3)[i], rows.integers(1)[i], rows.integers(2)[i]},
                          rows.rowids()[i]});
       });
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i)
    if (!(all[i - 1] < all[i])) throw Unsuited("a step that began twice");
  std::set<std::int64_t> reloaded;
  for (const Transfer& t : known_.transfers)
    if (t.direction == 1) reloaded.insert(t.request);
  readers_.resize(known_.transfers.size());
  auto at = all.begin();
  scan(map, "step_request", {"step", "rank", "request", "transfer"}, sequences,
       [&](const schema::PageRows& rows) {
         const auto column = [&](std::size_t n) { return rows.integers(first_column + n); };
         for (std::size_t i = 0; i < rows.rows(); ++i) {
           steps_without_load_ += !reloaded.contains(column(2)[i]);
           const std::uint32_t read = known_.transfer_of(column(3)[i]);
           if (read != FlatMap::none && known_.transfers[read].direction == 1 &&
               known_.transfers[read].rank == column(1)[i])
             first_reads_.insert(read);
           const Step sought{{column(0)[i], column(1)[i], rows.integers(0)[i], 0, 0, 0, 0}, 0};
           // A request's share of a step mostly follows its share of the step before.
           if (at != all.end() && *at < sought) ++at;
           if (at == all.end() || *at < sought || sought < *at)
             at = std::lower_bound(all.begin(), all.end(), sought);
           const bool found = at != all.end() && !(sought < *at);
           if (found) calls_.step(*at, column(2)[i], column(3)[i]);
           if (found)
             steps_.push_back({column(1)[i], column(2)[i], at->t_ns, rows.rowids()[i], at->rowid});
           if (found && read != FlatMap::none && known_.transfers[read].rank == column(1)[i]) {
             Reader& r = readers_[read];
             r.several = r.several ||
                         (r.any && (r.request != column(2)[i] || r.process != rows.integers(0)[i]));
             r.t_ns = r.any ? std::min(r.t_ns, at->t_ns) : at->t_ns;
             r.any = true;
             r.request = column(2)[i];
             r.process = rows.integers(0)[i];
           }
           if (column(3)[i] == 0) continue;
           reading_steps_.push_back(rows.rowids()[i]);
           if (found) reading_step_rows_.push_back(at->rowid);
         }
       });
  std::sort(steps_.begin(), steps_.end(), [](const StepOf& a, const StepOf& b) {
    return std::tie(a.rank, a.request, a.t_ns) < std::tie(b.rank, b.request, b.t_ns);
  });
}

void Orders::read_reuse(const schema::TableMap& map, Sequences& sequences) {
  scan(map, "reuse", {"transfer", "t_ns"}, sequences, [&](const schema::PageRows& rows) {
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      const std::uint32_t index = known_.transfer_of(rows.integers(first_column)[i]);
      if (index == FlatMap::none) continue;
      const Transfer& t = known_.transfers[index];
      if (t.waited_ns == never || rows.integers(first_column + 1)[i] < t.waited_ns)
        reuse_.push_back(rows.rowids()[i]), reused_.push_back(index);
    }
  });
}

} // namespace hitproof::audit::screen
