#include "audit/screen/look.h"

namespace hitproof::audit::screen {
namespace {

constexpr std::int64_t most_entries = 65534;

void read_transfers(Context& context, Small& small_tables) {
  auto q = context.query("SELECT rowid, transfer, request, rank, direction, t_ns, token_begin, "
                         "token_end, boundary, next_token, pages, stream, key FROM main.transfer");
  std::map<std::string, std::uint32_t> keys;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> key_tokens;
  while (q.next()) {
    Transfer t;
    std::int64_t* const to[] = {&t.rowid,     &t.id,         &t.request,     &t.rank,
                                &t.direction, &t.t_ns,       &t.token_begin, &t.token_end,
                                &t.boundary,  &t.next_token, &t.pages,       &t.stream};
    for (int i = 0; i < 12; ++i) {
      if (q.is_null(i)) throw Unsuited("a transfer with a value missing");
      *to[i] = q.integer(i);
    }
    small(t.direction, 1);
    small(t.rank, INT16_MAX);
    const auto [key, fresh] = keys.try_emplace(q.blob(12), static_cast<std::uint32_t>(keys.size()));
    if (fresh) small_tables.keys.push_back(key->first);
    t.key = key->second;
    t.key_token =
        key_tokens.try_emplace({t.key, t.next_token}, static_cast<std::uint32_t>(key_tokens.size()))
            .first->second;
    const auto index = static_cast<std::uint32_t>(small_tables.transfers.size());
    if (small_tables.transfer_index.find_or_put(static_cast<std::uint64_t>(t.id), index) != index)
      throw Unsuited("two transfers of one number");
    small_tables.transfers.push_back(t);
  }
  require(q.status());
}

} // namespace

Small::Small(Context& context) {
  read_transfers(context, *this);
  delay_asked = context.number("SELECT COUNT(*) FROM process WHERE mode % 32 >= 16") > 0;
  auto q = context.query("SELECT process, rank, entry, base, page_stride, page_bytes, num_pages, "
                         "origin, kind, transferred, transfer_group, key_scope FROM entry");
  while (q.next()) {
    for (int i = 0; i < 12; ++i)
      if (q.is_null(i)) throw Unsuited("an entry with a value missing");
    Entry e{q.integer(0), q.integer(1), q.integer(2), q.integer(3), q.integer(4),  q.integer(5),
            q.integer(6), q.integer(7), q.integer(8), q.integer(9), q.integer(10), q.integer(11)};
    small(e.entry, most_entries);
    small(e.rank, INT16_MAX);
    small(e.num_pages);
    small(e.page_stride);
    small(e.base, std::int64_t{1} << 62);
    const auto at = static_cast<std::size_t>(e.entry);
    if (at >= tail_entries.size()) {
      tail_entries.resize(at + 1);
      key_scopes.resize(at + 1, -1);
    }
    if (e.kind == 3) tail_entries[at] = true;
    if (e.origin == 0) {
      if (e.kind == 2) state_entries.emplace(e.rank, e.entry);
      key_scopes[at] = std::max(key_scopes[at], e.key_scope);
      auto& [kind, transferred] =
          declared.try_emplace({e.rank, e.entry}, e.kind, e.transferred).first->second;
      kind = std::max(kind, e.kind);
      transferred = std::max(transferred, e.transferred);
    }
    entries.push_back(e);
  }
  require(q.status());
}

std::uint16_t Processes::number(std::int64_t process) {
  if (!all_.empty() && process == last_) return last_number_;
  const auto [at, fresh] = numbers_.try_emplace(process, static_cast<std::uint16_t>(all_.size()));
  if (fresh) {
    if (all_.size() >= UINT16_MAX) throw Unsuited("more processes than are counted here");
    all_.push_back(process);
  }
  last_ = process;
  return last_number_ = at->second;
}

void scan(const schema::TableMap& map, const char* table, std::vector<std::string> columns,
          Sequences& sequences, const std::function<void(const schema::PageRows&)>& use) {
  columns.insert(columns.begin(), {"process", "thread", "seq"});
  auto pages = schema::TablePages::open(map, table, columns);
  if (!pages.ok()) throw Unsuited(pages.status().to_string());
  while (pages->next()) {
    sequences.note(pages->page());
    if (use) use(pages->page());
  }
  if (!pages->status().ok()) throw Unsuited(pages->status().to_string());
}

} // namespace hitproof::audit::screen
