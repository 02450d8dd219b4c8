#include "audit/screen/screen.h"

#include "audit/rule.h"
#include "audit/screen/arms.h"
#include "audit/screen/digests.h"
#include "audit/screen/keys.h"
#include "audit/screen/orders.h"

#include <algorithm>
#include <future>

namespace hitproof::audit::screen {
namespace {

// More rows than this are not copied into temporary tables; the query then runs as it stands.
constexpr std::size_t most_kept = 3'000'000;

// Rows of a table that belong to marked transfers.
Rowids rows_of(const schema::TableMap& map, const char* table, const Small& known,
               const std::vector<std::uint32_t>& transfers) {
  Rowids out;
  if (transfers.empty()) return out;
  std::vector<bool> marked(known.transfers.size());
  for (const std::uint32_t t : transfers)
    marked[t] = true;
  auto pages = schema::TablePages::open(map, table, {"transfer"});
  if (!pages.ok()) throw Unsuited(pages.status().to_string());
  while (pages->next()) {
    for (std::size_t i = 0; i < pages->page().rows(); ++i) {
      const std::uint32_t t = known.transfer_of(pages->page().integers(0)[i]);
      if (t != FlatMap::none && marked[t]) out.push_back(pages->page().rowids()[i]);
    }
  }
  if (!pages->status().ok()) throw Unsuited(pages->status().to_string());
  return out;
}

} // namespace

// The state of one look; what stays of it is a Screen.
class Looking {
 public:
  Looking(Context& context, schema::TableMap map)
      : context_(context), map_(std::move(map)), most_(map_.file_bytes() / 8 + 64), known_(context),
        calls_(context), pages_(known_), digests_(known_, pages_), orders_(known_, calls_),
        here_(most_), there_(most_) {}

  std::unique_ptr<Screen> run() {
    orders_.read_marks(map_, here_);
    read_pages_beside_the_rest();
    auto calls = std::async(std::launch::async, [&] {
      return std::make_shared<const order::Records>(calls_.records());
    });
    here_.add(there_);
    pages_.gather();
    auto screen = std::make_unique<Screen>();
    screen_ = screen.get();
    plan_evidence();
    plan_pages_and_poison();
    plan_tails();
    Plan& boundary = plan("boundary");
    boundary.kept = digests_.boundary(resumed_at_the_label());
    boundary.kept["step_request"] = orders_.first_reads();
    plan("keys").kept = digests_.keys();
    plan("keys").kept.merge(keys_to_compare(context_, known_));
    plan("order").kept = orders_.order(pages_);
    plan("waits").kept = orders_.waits(pages_);
    plan_crosscheck();
    if (auto arms = plan_arms(context_, map_)) screen_->plans_["control_arms"] = std::move(*arms);
    count();
    screen->calls_ = calls.get();
    return screen;
  }

 private:
  void read_pages_beside_the_rest() {
    std::shared_future<void> announced =
        std::async(std::launch::async, [&] { pages_.read_announced(map_, there_); }).share();
    std::future<void> beside = std::async(std::launch::async, [&, announced] {
      announced.get();
      digests_.read_states(map_, there_);
      digests_.read_digests(map_, there_);
      pages_.read_poison(map_, there_, poison_of_tails_);
      scan(map_, "page_compare", {"content_differ", "padding_differ"}, there_,
           [&](const schema::PageRows& rows) {
             for (std::size_t i = 0; i < rows.rows(); ++i)
               if (rows.integers(first_column)[i] != 0 || rows.integers(first_column + 1)[i] != 0)
                 differing_.push_back(rows.rowids()[i]);
           });
    });
    orders_.read_operations(map_, here_);
    orders_.read_blocks(map_, here_);
    orders_.read_steps(map_, here_);
    orders_.read_reuse(map_, here_);
    read_others();
    announced.get();
    orders_.read_copies(map_, here_, pages_);
    beside.get();
  }

  // Tables that the statements read; here their sequence numbers count, and that what was read as
  // whole numbers are such.
  void read_others() {
    for (const char* table : {"process", "meta", "coverage", "profile", "entry_shape", "memory",
                              "hook", "request", "admission", "lookup", "lookup_answer",
                              "key_input", "content_input", "tail_read", "pooled_key", "tail_flip"})
      scan(map_, table, {}, here_, {});
    scan(map_, "entry",
         {"rank", "entry", "base", "page_stride", "page_bytes", "num_pages", "origin", "kind",
          "transferred", "transfer_group", "key_scope"},
         here_, {});
    scan(map_, "transfer",
         {"transfer", "request", "rank", "direction", "t_ns", "token_begin", "token_end",
          "boundary", "next_token", "pages", "stream", "key"},
         here_, {});
  }

  Plan& plan(const char* query) {
    Plan& p = screen_->plans_[query];
    p.sql = rule_sql(query);
    return p;
  }

  void plan_evidence() {
    if (!here_.countable()) return;
    const std::string sql =
        with_body(rule_sql("evidence"), "numbered",
                  "SELECT process, thread, n, different, last FROM temp.numbered_records");
    if (sql.empty()) return;
    Plan& p = plan("evidence");
    p.sql = sql;
    p.prepare.push_back("DROP TABLE IF EXISTS temp.numbered_records");
    p.prepare.push_back("CREATE TEMP TABLE numbered_records (process INTEGER, thread INTEGER, n "
                        "INTEGER, different INTEGER, last INTEGER)");
    for (const Numbered& t : here_.irregular())
      p.prepare.push_back("INSERT INTO temp.numbered_records VALUES (" + std::to_string(t.process) +
                          ", " + std::to_string(t.thread) + ", " + std::to_string(t.rows) + ", " +
                          std::to_string(t.different) + ", " + std::to_string(t.last) + ")");
  }

  Rowids rowids_of(const std::vector<std::uint32_t>& transfers, Rowids& announcements) const {
    Rowids out;
    for (const std::uint32_t t : transfers) {
      out.push_back(known_.transfers[t].rowid);
      const auto [begin, end] = pages_.of(t);
      for (const std::uint32_t* at = begin; at != end; ++at)
        announcements.push_back(pages_.all()[*at].rowid);
    }
    return out;
  }

  // Loads for whose request every admission credits the tokens of their label: then the query
  // compares each with the other, whichever it joins. By transfer.
  std::vector<bool> resumed_at_the_label() {
    std::map<std::int64_t, std::int64_t> credited; // by request; never: several, or no number
    auto q =
        context_.query("SELECT request, computed, typeof(computed) = 'integer' FROM admission");
    while (q.next()) {
      const std::int64_t tokens = q.integer(2) == 1 ? q.integer(1) : never;
      const auto [at, fresh] = credited.try_emplace(q.integer(0), tokens);
      if (!fresh && at->second != tokens) at->second = never;
    }
    require(q.status());
    std::vector<bool> out(known_.transfers.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Transfer& t = known_.transfers[i];
      const auto at = credited.find(t.request);
      out[i] = t.boundary != never && (at == credited.end() || at->second == t.boundary);
    }
    return out;
  }

  void plan_pages_and_poison() {
    const PageSuspects suspects =
        suspects_of(pages_, known_, [&](std::int64_t block, std::int64_t generation) {
          return orders_.owner(block, generation);
        });
    Kept& pages = plan("pages").kept;
    pages["transfer"] = rowids_of(suspects.pages, pages["transfer_page"]);
    pages["copy"] = rows_of(map_, "copy", known_, suspects.pages);
    Rowids& copies = pages["copy"];
    copies.insert(copies.end(), orders_.strays().begin(), orders_.strays().end());
    std::sort(copies.begin(), copies.end());
    copies.erase(std::unique(copies.begin(), copies.end()), copies.end());
    pages["page_digest"] = rows_of(map_, "page_digest", known_, suspects.pages);
    pages["page_compare"] = differing_;
    std::set<std::uint32_t> blocks;
    for (const std::uint32_t t : suspects.pages) {
      const auto [begin, end] = pages_.of(t);
      for (const std::uint32_t* at = begin; at != end; ++at)
        blocks.insert(pages_.all()[*at].block);
    }
    pages["block"] = orders_.rows_of_blocks(blocks);
    Kept& poison = plan("poison").kept;
    poison["transfer"] = rowids_of(suspects.poison, poison["transfer_page"]);
    poison["page_poison"] = rows_of(map_, "page_poison", known_, suspects.poison);
  }

  void plan_tails() {
    Kept& tails = plan("tails").kept;
    tails["page_digest"] = digests_.tails();
    tails["page_poison"] = poison_of_tails_;
    tails["copy"] = orders_.unannounced_loads();
    Rowids& announced = tails["transfer_page"];
    for (std::size_t i = 0; i < pages_.all().size(); ++i) {
      const Page& p = pages_.all()[i];
      if (known_.transfers[p.transfer].direction == 1 && p.entry < known_.tail_entries.size() &&
          known_.tail_entries[p.entry])
        announced.push_back(p.rowid);
    }
  }

  // One row stands for all copies of a process in one direction: the query adds their bytes up.
  void plan_crosscheck() {
    Plan& p = plan("crosscheck");
    for (const auto& [process, rowid] : orders_.first_operations())
      p.kept["order_op"].push_back(rowid);
    p.kept["copy"];
    for (const auto& [of, bytes] : orders_.copied())
      p.prepare.push_back("INSERT INTO temp.copy (process, direction, bytes, result) VALUES (" +
                          std::to_string(of.first) + ", " + std::to_string(of.second) + ", " +
                          std::to_string(bytes) + ", " + (of.second < 0 ? "1" : "0") + ")");
  }

  void count() {
    auto& f = screen_->figures_;
    const auto& sums = pages_.poison_sums();
    f["poison.sql destinations"] = sums.destinations;
    f["poison.sql residue"] = sums.residue;
    f["poison.sql residue_content"] = sums.residue_content;
    f["poison.sql bytes_verified"] = sums.verified;
    std::int64_t announced = 0, copying_nothing = 0;
    for (std::uint32_t t = 0; t < known_.transfers.size(); ++t) {
      const auto [begin, end] = pages_.of(t);
      if (known_.transfers[t].direction == 1) {
        announced += end - begin;
      } else {
        copying_nothing += begin != end && std::all_of(begin, end, [&](std::uint32_t at) {
                             return pages_.all()[at].held;
                           });
      }
    }
    f["poison.sql announced"] = announced;
    f["waits.sql copying_nothing"] = copying_nothing;
    f["pages.sql held"] = pages_.held();
    std::set<std::int64_t> groups;
    for (const Entry& e : known_.entries)
      if (e.origin == 0 && pages_.named().contains({e.rank, e.entry}))
        groups.insert(e.transfer_group);
    f["pages.sql groups"] = static_cast<std::int64_t>(groups.size());
    f["boundary.sql states_loaded"] = digests_.states(1);
    f["boundary.sql states_published"] = digests_.states(0);
    f["keys.sql contents"] = digests_.contents();
    f["order.sql operations"] = orders_.operations();
    f["order.sql first_reads"] = orders_.loads_read();
    f["control_arms.sql steps_compared"] = orders_.steps_without_load();
    f["order.sql saves_behind_producer"] = orders_.saves_that_copied();
    for (const auto& [name, direction] :
         {std::pair{"ledger_d2h", 0}, {"ledger_h2d", 1}, {"ledger_d2d", 2}}) {
      std::int64_t& sum = f[std::string("crosscheck.sql ") + name];
      for (const auto& [of, bytes] : orders_.copied())
        if (of.second == direction) sum += bytes;
    }
    screen_->moved_ = moved(pages_, known_);
    screen_->loaded_ = loaded(pages_, known_);
    screen_->loaded_states_ = digests_.loaded_states();
  }

  Context& context_;
  schema::TableMap map_;
  std::int64_t most_;
  Small known_;
  order::Gathering calls_;
  Pages pages_;
  Digests digests_;
  Orders orders_;
  Sequences here_, there_; // of the two threads
  Rowids poison_of_tails_, differing_;
  Screen* screen_ = nullptr;
};

std::size_t Plan::rows() const {
  std::size_t n = 0;
  for (const auto& [table, rows] : kept)
    n += rows.size();
  return n;
}

std::unique_ptr<Screen> Screen::look(Context& context) {
  if (context.strangers() != 0) return nullptr;
  auto map = schema::TableMap::of(context.recording());
  if (!map.ok()) return nullptr;
  try {
    return Looking(context, std::move(map).value()).run();
  } catch (const Unsuited&) {
    return nullptr;
  }
}

const Plan* Screen::plan(std::string_view query) const {
  const auto at = plans_.find(query);
  return at == plans_.end() || at->second.rows() > most_kept ? nullptr : &at->second;
}

std::optional<std::int64_t> Screen::figure(const std::string& source,
                                           const std::string& name) const {
  const auto at = figures_.find(source + " " + name);
  if (at == figures_.end()) return std::nullopt;
  return at->second;
}

Reduced::Reduced(Context& context, std::string_view query, const char* sql)
    : context_(context), sql_(sql) {
  const Plan* plan = context.screen() ? context.screen()->plan(query) : nullptr;
  if (plan == nullptr) return;
  if (!plan->sql.empty()) sql_ = plan->sql;
  for (const auto& [table, rows] : plan->kept) {
    shadows_.push_back(table);
    require(context.recording().execute("CREATE TEMP TABLE \"" + table +
                                        "\" AS SELECT * FROM main.\"" + table + "\" WHERE 0"));
    if (rows.empty()) continue;
    auto insert = context.query("INSERT INTO temp.\"" + table + "\" SELECT * FROM main.\"" + table +
                                "\" WHERE rowid = ?");
    for (const std::int64_t rowid : rows) {
      insert.bind(1, rowid);
      static_cast<void>(insert.next());
      insert.reset();
    }
    require(insert.status());
  }
  for (const std::string& statement : plan->prepare)
    require(context.recording().execute(statement));
}

Reduced::~Reduced() {
  for (const std::string& table : shadows_)
    static_cast<void>(
        context_.recording().execute("DROP TABLE IF EXISTS temp.\"" + table + "\"").ok());
}

} // namespace hitproof::audit::screen
