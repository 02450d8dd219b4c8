#include "audit/screen/pages.h"

#include <algorithm>

namespace hitproof::audit::screen {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 40, most_address = std::int64_t{1} << 62;

} // namespace

void Pages::read_announced(const schema::TableMap& map, Sequences& sequences) {
  std::pair<std::int64_t, std::int64_t> last_named{-1, -1};
  std::int64_t last_id = 0;
  std::uint32_t last_transfer = FlatMap::none;
  bool any = false;
  scan(map, "transfer_page",
       {"transfer", "device_address", "host_address", "host_object", "host_offset", "bytes",
        "block", "generation", "token_begin", "token_end", "rank", "entry", "held", "t_ns"},
       sequences, [&](const schema::PageRows& rows) {
         const auto column = [&](std::size_t n) { return rows.integers(first_column + n); };
         for (std::size_t i = 0; i < rows.rows(); ++i) {
           const std::int64_t rank = column(10)[i], entry = column(11)[i], id = column(0)[i];
           small(rank, INT16_MAX);
           small(entry, UINT16_MAX - 1);
           const bool is_held = small(column(12)[i], 1) == 1;
           held_ += is_held;
           if (last_named != std::pair{rank, entry}) named_.insert(last_named = {rank, entry});
           if (!any || id != last_id) last_transfer = known_.transfer_of(id);
           any = true;
           last_id = id;
           if (last_transfer == FlatMap::none) continue;
           const std::int64_t block = column(6)[i];
           small(block);
           const std::uint64_t h = hash(last_transfer, entry, block);
           const auto index = static_cast<std::uint32_t>(pages_.size());
           const auto same = [&](std::uint32_t at) {
             const Page& p = pages_[at];
             return p.transfer == last_transfer && p.entry == entry && p.block == block;
           };
           if (index_.find(h, same) != FlatIndex::none)
             throw Unsuited("a page announced twice for one transfer");
           Page& p = pages_.add();
           p.transfer = last_transfer;
           p.block = static_cast<std::uint32_t>(block);
           p.generation = small(column(7)[i]);
           p.token_begin = small(column(8)[i]);
           p.token_end = small(column(9)[i]);
           p.entry = static_cast<std::uint16_t>(entry);
           p.process = processes_.number(rows.integers(0)[i]);
           p.rank = static_cast<std::int16_t>(rank);
           p.held = is_held;
           small(column(5)[i], most_bytes);
           for (std::size_t n = 1; n < 5; ++n)
             small(column(n)[i], most_address);
           p.device = column(1)[i];
           p.host = column(2)[i];
           p.object = column(3)[i];
           p.offset = column(4)[i];
           p.bytes = column(5)[i];
           p.t_ns = column(13)[i];
           p.rowid = rows.rowids()[i];
           index_.put(h, index);
         }
       });
}

Page* Pages::find(std::uint32_t transfer, std::int64_t entry, std::int64_t block,
                  std::uint32_t& hint) {
  const auto same = [&](std::uint32_t at) {
    const Page& p = pages_[at];
    return p.transfer == transfer && p.entry == entry && p.block == block;
  };
  // The tables mostly go through a transfer's pages in one order.
  if (hint + 1 < pages_.size() && same(hint + 1)) return &pages_[++hint];
  const std::uint32_t at = index_.find(hash(transfer, entry, block), same);
  if (at == FlatIndex::none) return nullptr;
  hint = at;
  return &pages_[at];
}

void Pages::note_copy(const CopyRow& row) {
  const std::uint32_t transfer = known_.transfer_of(row.transfer);
  if (transfer == FlatMap::none) return;
  Page* p = find(transfer, row.entry, row.block, copy_hint_);
  if (p == nullptr || processes_.all()[p->process] != row.process) return;
  if (row.result != 0) {
    p->copy_refused = true;
    return;
  }
  small(row.bytes, most_bytes);
  ++p->copies;
  p->all_bytes += row.bytes;
  const bool save = known_.transfers[transfer].direction == 0;
  const std::int64_t device = save ? row.src : row.dst, host = save ? row.dst : row.src;
  if (device < 0 || host < 0 || device > most_address || host > most_address) return;
  if (row.direction == known_.transfers[transfer].direction && device >= p->device &&
      device + row.bytes <= p->device + p->bytes && device - p->device == host - p->host)
    p->right_bytes += row.bytes;
}

void Pages::note_digest(const DigestRow& row) {
  Page* p = find(row.transfer, row.entry, row.block, digest_hint_);
  if (p == nullptr || p->token_end != row.token_end) return;
  const std::int64_t direction = known_.transfers[row.transfer].direction;
  if (row.nonzero == 0 || row.bytes != p->bytes) p->digests_odd = true;
  const bool left = row.moment == 0 && row.place == direction;
  const bool landed = row.moment == 1 && row.place != direction;
  if (!left && !landed) return;
  std::array<std::uint8_t, 64> both;
  std::memcpy(both.data(), row.content, 32);
  std::memcpy(both.data() + 32, row.page, 32);
  if (!p->left && !p->landed)
    p->one = both;
  else if (p->one != both)
    p->digests_differ = true;
  (left ? p->left : p->landed) = true;
}

void Pages::read_poison(const schema::TableMap& map, Sequences& sequences, Rowids& of_tails) {
  scan(map, "page_poison",
       {"transfer", "entry", "block", "token_end", "rank", "page_bytes", "verified_bytes",
        "residue_bytes", "residue_content", "generation", "poison_ns"},
       sequences, [&](const schema::PageRows& rows) {
         const auto column = [&](std::size_t n) { return rows.integers(first_column + n); };
         for (std::size_t i = 0; i < rows.rows(); ++i) {
           const std::int64_t entry = column(1)[i];
           if (entry >= 0 && static_cast<std::size_t>(entry) < known_.tail_entries.size() &&
               known_.tail_entries[static_cast<std::size_t>(entry)])
             of_tails.push_back(rows.rowids()[i]);
           const std::uint32_t index = known_.transfer_of(column(0)[i]);
           if (index == FlatMap::none || known_.transfers[index].direction != 1) continue;
           const Transfer& t = known_.transfers[index];
           Page* p = find(index, entry, column(2)[i], poison_hint_);
           if (p == nullptr || p->token_end != column(3)[i]) continue;
           for (std::size_t n = 5; n < 9; ++n)
             small(column(n)[i], most_bytes);
           const std::int64_t verified = column(6)[i], residue = column(7)[i];
           ++poison_sums_.rows;
           poison_sums_.destinations += verified == p->bytes;
           poison_sums_.residue += residue;
           poison_sums_.residue_content += column(8)[i];
           poison_sums_.verified += verified;
           if (column(4)[i] != t.rank) continue;
           if (p->poisons < 2) ++p->poisons;
           const std::int64_t when = column(10)[i];
           if (residue != 0 || verified != p->bytes || column(5)[i] != p->bytes ||
               column(9)[i] != p->generation || when < p->t_ns ||
               (t.complete_ns != never && when > t.complete_ns))
             p->poison_odd = true;
         }
       });
}

void Pages::gather() {
  begins_.assign(known_.transfers.size() + 1, 0);
  for (std::size_t i = 0; i < pages_.size(); ++i)
    ++begins_[pages_[i].transfer + 1];
  for (std::size_t i = 1; i < begins_.size(); ++i)
    begins_[i] += begins_[i - 1];
  by_transfer_.resize(pages_.size());
  std::vector<std::uint32_t> next(begins_.begin(), begins_.end());
  for (std::size_t i = 0; i < pages_.size(); ++i)
    by_transfer_[next[pages_[i].transfer]++] = static_cast<std::uint32_t>(i);
}

std::vector<Moved> moved(const Pages& pages, const Small& known) {
  struct Sum {
    std::set<std::uint16_t> entries;
    std::int64_t pages = 0, bytes = 0;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Sum> sums; // direction, rank
  for (std::uint32_t t = 0; t < known.transfers.size(); ++t) {
    const auto [begin, end] = pages.of(t);
    Sum* sum = nullptr;
    for (const std::uint32_t* at = begin; at != end; ++at) {
      const Page& p = pages.all()[*at];
      if (p.held || p.copies == 0) continue;
      if (sum == nullptr) sum = &sums[{known.transfers[t].direction, known.transfers[t].rank}];
      sum->entries.insert(p.entry);
      ++sum->pages;
      sum->bytes += p.all_bytes;
    }
  }
  std::vector<Moved> out;
  for (const auto& [where, sum] : sums)
    out.push_back({where.second, where.first, static_cast<std::int64_t>(sum.entries.size()),
                   sum.pages, sum.bytes});
  return out;
}

std::vector<Loaded> loaded(const Pages& pages, const Small& known) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<Loaded, std::set<std::uint32_t>>> sums;
  for (std::uint32_t t = 0; t < known.transfers.size(); ++t) {
    const Transfer& transfer = known.transfers[t];
    const auto [begin, end] = pages.of(t);
    if (transfer.direction != 1 || begin == end) continue;
    auto& [sum, ends] = sums[{transfer.request, transfer.rank}];
    for (const std::uint32_t* at = begin; at != end; ++at) {
      const Page& p = pages.all()[*at];
      ends.insert(p.token_end);
      sum.pages += p.copies > 0;
      sum.bytes += p.all_bytes;
    }
  }
  std::vector<Loaded> out;
  for (auto& [where, of] : sums) {
    of.first.request = where.first;
    of.first.rank = where.second;
    of.first.chunks = static_cast<std::int64_t>(of.second.size());
    out.push_back(of.first);
  }
  return out;
}

} // namespace hitproof::audit::screen
