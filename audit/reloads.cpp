#include "audit/reloads.h"

#include "audit/screen/screen.h"
#include "audit/trace.h"

#include <algorithm>
#include <functional>
#include <map>

namespace hitproof::audit {
namespace {

using Rows = std::vector<ReloadRow>;

std::map<std::int64_t, ReloadRow*> by_requests(Rows& rows) {
  std::map<std::int64_t, ReloadRow*> out;
  for (ReloadRow& row : rows)
    out[row.request] = &row;
  return out;
}

// One query over all reloads at a time, so that the cost stays linear in the records.
void for_each(Context& context, const std::string& sql, Rows& rows,
              const std::function<void(ReloadRow&, const schema::Query&)>& use) {
  const auto by_request = by_requests(rows);
  auto q = context.query(sql);
  while (q.next()) {
    const auto at = by_request.find(q.integer(0));
    if (at != by_request.end()) use(*at->second, q);
  }
  require(q.status());
}

// Each query gives rows for all reloads; the statement of one figure is the query with the request
// picked out, so that what was counted and what a reviewer runs are the same text.

// Candidates of B_content per loaded state page, folded.
const char* const content_sql =
    "WITH page AS (SELECT t.request, d.transfer, d.rank, d.entry, d.content FROM page_digest d "
    "JOIN transfer t ON t.transfer = d.transfer JOIN (SELECT rank, entry FROM entry WHERE origin = "
    "0 AND kind = 2 GROUP BY rank, entry) e ON e.rank = t.rank AND e.entry = d.entry WHERE "
    "t.direction = 1 AND d.place = 0 AND d.moment = 1), "
    "known AS (SELECT DISTINCT rank, entry, content, tokens FROM state), "
    "hit AS (SELECT DISTINCT p.request, p.transfer, p.entry, k.tokens FROM page p JOIN known k ON "
    "k.rank = p.rank AND k.entry = p.entry AND k.content = p.content), "
    "pages AS (SELECT request, COUNT(*) AS n FROM page GROUP BY request) "
    "SELECT h.request AS request, h.tokens AS tokens, COUNT(*) AS fitting, MAX(p.n) AS pages FROM "
    "hit h JOIN pages p ON p.request = h.request GROUP BY h.request, h.tokens ORDER BY h.request, "
    "h.tokens";

const char* const label_sql =
    "SELECT request, CASE WHEN MIN(boundary) = MAX(boundary) THEN MIN(boundary) ELSE -1 END AS "
    "label FROM transfer WHERE direction = 1 GROUP BY request";

const char* const chunks_sql =
    "SELECT request, MAX(n) AS chunks FROM (SELECT t.request, t.rank, COUNT(DISTINCT p.token_end) "
    "AS n FROM transfer t JOIN transfer_page p ON p.transfer = t.transfer WHERE t.direction = 1 "
    "GROUP BY t.request, t.rank) GROUP BY request";

const char* const moved_sql =
    "SELECT request, rank, COUNT(*) AS rows, SUM(bytes) AS bytes FROM (SELECT t.request, t.rank, "
    "SUM(c.bytes) AS bytes FROM transfer t JOIN transfer_page p ON p.transfer = t.transfer JOIN "
    "copy c ON c.transfer = p.transfer AND c.entry = p.entry AND c.block = p.block AND c.process = "
    "p.process WHERE t.direction = 1 AND c.result = 0 GROUP BY t.request, t.rank, p.transfer, "
    "p.entry, p.block, p.token_end) GROUP BY request, rank";

const char* const difference_sql =
    "SELECT r.request AS request, MIN(CASE WHEN a.token <> b.token THEN a.position END) AS "
    "first_difference FROM study_operation r JOIN study_operation c ON c.case_index = r.case_index "
    "AND c.which = r.which AND c.kind = 'cold' JOIN study_token a ON a.op = c.op JOIN study_token "
    "b ON b.op = r.op AND b.position = a.position WHERE r.kind = 'reload' GROUP BY r.request";

// A token count stands for the reload if every page on every rank can stand for it; where no count
// does, all counts seen are listed.
void read_content(Context& context, Rows& rows) {
  std::map<std::int64_t, std::vector<std::int64_t>> some;
  const auto take = [&](ReloadRow& row, std::int64_t tokens, bool all_pages) {
    row.content_observed = true;
    some[row.request].push_back(tokens);
    if (all_pages) row.content.push_back(tokens);
  };
  const screen::Screen* screen = context.screen();
  if (screen != nullptr && screen->loaded_states()) {
    const auto by_request = by_requests(rows);
    for (const screen::StandsFor& s : *screen->loaded_states())
      if (const auto at = by_request.find(s.request); at != by_request.end())
        take(*at->second, s.tokens, s.fitting == s.pages);
  } else {
    for_each(context, content_sql, rows, [&](ReloadRow& row, const schema::Query& q) {
      take(row, q.integer(1), q.integer(2) == q.integer(3));
    });
  }
  for (ReloadRow& row : rows) {
    row.unanimous = !row.content.empty();
    if (!row.unanimous) row.content = some[row.request];
  }
}

// What chunks_sql and moved_sql give, where it was counted already.
void take_loads(Context& context, Rows& rows) {
  const auto by_request = by_requests(rows);
  const auto& ranks = context.ranks();
  for (const screen::Loaded& loaded : context.screen()->loaded()) {
    const auto row = by_request.find(loaded.request);
    if (row == by_request.end()) continue;
    row->second->chunks = std::max(row->second->chunks, loaded.chunks);
    const auto at = std::find(ranks.begin(), ranks.end(), loaded.rank);
    if (at == ranks.end() || loaded.pages == 0) continue;
    const auto i = static_cast<std::size_t>(at - ranks.begin());
    row->second->rows[i] = loaded.pages;
    row->second->bytes[i] = loaded.bytes;
  }
}

void read_loads(Context& context, Rows& rows) {
  for_each(context, label_sql, rows,
           [](ReloadRow& row, const schema::Query& q) { row.label = q.integer(1); });
  const auto& ranks = context.ranks();
  for (ReloadRow& row : rows) {
    row.rows.assign(ranks.size(), 0);
    row.bytes.assign(ranks.size(), 0);
  }
  if (context.screen()) return take_loads(context, rows);
  for_each(context, chunks_sql, rows,
           [](ReloadRow& row, const schema::Query& q) { row.chunks = q.integer(1); });
  for_each(context, moved_sql, rows, [&](ReloadRow& row, const schema::Query& q) {
    const auto at = std::find(ranks.begin(), ranks.end(), q.integer(1));
    if (at == ranks.end()) return;
    const auto i = static_cast<std::size_t>(at - ranks.begin());
    row.rows[i] = q.integer(2);
    row.bytes[i] = q.integer(3);
  });
}

void read_differences(Context& context, Rows& rows) {
  for_each(context, difference_sql, rows, [](ReloadRow& row, const schema::Query& q) {
    row.compared = true;
    row.first_difference = q.is_null(1) ? -1 : q.integer(1);
  });
}

void add_traces(const Context& context, ReloadRow& row) {
  const std::string request = std::to_string(row.request);
  const auto add = [&](const char* figure, const std::string& sql) {
    row.traces[figure] = traced(context, "boundary.sql", sql);
  };
  const auto pick = [&](const char* column, const char* from) {
    return std::string("SELECT ") + column + " FROM (" + from + ") WHERE request = " + request;
  };
  add("prompt_tokens", "SELECT MAX(prompt_tokens) FROM request WHERE request = " + request);
  for (const char* column : {"computed", "scheduled", "drafts"}) {
    add(column,
        std::string("SELECT MAX(") + column + ") FROM admission WHERE request = " + request);
  }
  add("label", pick("label", label_sql));
  add("content", pick("tokens", content_sql) + (row.unanimous ? " AND fitting = pages" : ""));
  add("chunks", pick("chunks", chunks_sql));
  for (const char* column : {"rows", "bytes"}) {
    add(column, std::string("SELECT COALESCE(m.") + column + ", 0) FROM (" + context.ranks_sql() +
                    ") r LEFT JOIN (" + pick("*", moved_sql) +
                    ") m ON m.rank = r.rank ORDER BY r.rank");
  }
  add("first_difference",
      pick("first_difference", difference_sql) + " AND first_difference IS NOT NULL");
}

} // namespace

std::vector<ReloadRow> reload_rows(Context& context) {
  std::vector<ReloadRow> rows;
  auto q = context.query(
      "SELECT a.request, MAX(r.prompt_tokens), MAX(a.computed), MAX(a.scheduled), MAX(a.drafts), "
      "MIN(a.t_ns) FROM admission a JOIN (SELECT DISTINCT request FROM transfer WHERE direction = "
      "1) "
      "t ON t.request = a.request LEFT JOIN request r ON r.request = a.request GROUP BY a.request "
      "ORDER BY MIN(a.t_ns)");
  while (q.next()) {
    ReloadRow row;
    row.request = q.integer(0);
    row.prompt_tokens = q.integer(1);
    row.computed = q.integer(2);
    row.scheduled = q.integer(3);
    row.drafts = q.integer(4);
    rows.push_back(row);
  }
  require(q.status());
  read_loads(context, rows);
  read_content(context, rows);
  read_differences(context, rows);
  for (ReloadRow& row : rows) {
    const bool content =
        !row.content_observed ||
        (row.unanimous && std::count(row.content.begin(), row.content.end(), row.computed) > 0);
    row.aligned = row.label == row.computed && content &&
                  row.scheduled == row.prompt_tokens - row.label &&
                  row.computed <= row.prompt_tokens - 1 && row.drafts == 0;
    add_traces(context, row);
  }
  return rows;
}

} // namespace hitproof::audit
