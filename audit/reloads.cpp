#include "audit/reloads.h"

#include <algorithm>
#include <functional>
#include <map>

namespace hitproof::audit {
namespace {

using Rows = std::vector<ReloadRow>;

// One query over all reloads at a time, so that the cost stays linear in the records.
void for_each(Context& context, const std::string& sql, Rows& rows,
              const std::function<void(ReloadRow&, const schema::Query&)>& use) {
  std::map<std::int64_t, ReloadRow*> by_request;
  for (ReloadRow& row : rows)
    by_request[row.request] = &row;
  auto q = context.query(sql);
  while (q.next()) {
    const auto at = by_request.find(q.integer(0));
    if (at != by_request.end()) use(*at->second, q);
  }
  require(q.status());
}

// Candidates of B_content per loaded state page, folded: a token count stands for the reload if
// every page on every rank can stand for it; where no count does, all counts seen are listed.
void read_content(Context& context, Rows& rows) {
  std::map<std::int64_t, std::vector<std::int64_t>> some;
  for_each(context,
           "WITH page AS (SELECT t.request, d.transfer, d.rank, d.entry, d.content FROM "
           "page_digest d JOIN transfer t ON "
           "t.transfer = d.transfer JOIN (SELECT rank, entry FROM entry WHERE origin = 0 AND kind "
           "= 2 GROUP BY rank, "
           "entry) e ON e.rank = t.rank AND e.entry = d.entry WHERE t.direction = 1 AND d.place = "
           "0 AND d.moment = 1), "
           "known AS (SELECT DISTINCT rank, entry, content, tokens FROM state), "
           "hit AS (SELECT DISTINCT p.request, p.transfer, p.entry, k.tokens FROM page p JOIN "
           "known k ON k.rank = p.rank "
           "AND k.entry = p.entry AND k.content = p.content), "
           "pages AS (SELECT request, COUNT(*) AS n FROM page GROUP BY request) "
           "SELECT h.request, h.tokens, COUNT(*), MAX(p.n) FROM hit h JOIN pages p ON p.request = "
           "h.request "
           "GROUP BY h.request, h.tokens ORDER BY h.request, h.tokens",
           rows, [&](ReloadRow& row, const schema::Query& q) {
             row.content_observed = true;
             some[row.request].push_back(q.integer(1));
             if (q.integer(2) == q.integer(3)) row.content.push_back(q.integer(1));
           });
  for (ReloadRow& row : rows) {
    row.unanimous = !row.content.empty();
    if (!row.unanimous) row.content = some[row.request];
  }
}

void read_loads(Context& context, Rows& rows) {
  for_each(context,
           "SELECT request, CASE WHEN MIN(boundary) = MAX(boundary) THEN MIN(boundary) ELSE -1 END "
           "FROM transfer WHERE "
           "direction = 1 GROUP BY request",
           rows, [](ReloadRow& row, const schema::Query& q) { row.label = q.integer(1); });
  for_each(context,
           "SELECT request, MAX(n) FROM (SELECT t.request, t.rank, COUNT(DISTINCT p.token_end) AS "
           "n FROM transfer t JOIN "
           "transfer_page p ON p.transfer = t.transfer WHERE t.direction = 1 GROUP BY t.request, "
           "t.rank) GROUP BY request",
           rows, [](ReloadRow& row, const schema::Query& q) { row.chunks = q.integer(1); });
  const auto& ranks = context.ranks();
  for (ReloadRow& row : rows) {
    row.rows.assign(ranks.size(), 0);
    row.bytes.assign(ranks.size(), 0);
  }
  for_each(context,
           "SELECT request, rank, COUNT(*), SUM(bytes) FROM (SELECT t.request, t.rank, "
           "SUM(c.bytes) AS bytes FROM transfer "
           "t JOIN transfer_page p ON p.transfer = t.transfer JOIN copy c ON c.transfer = "
           "p.transfer AND c.entry = p.entry "
           "AND c.block = p.block AND c.process = p.process WHERE t.direction = 1 AND c.result = 0 "
           "GROUP BY t.request, "
           "t.rank, p.transfer, p.entry, p.block, p.token_end) GROUP BY request, rank",
           rows, [&](ReloadRow& row, const schema::Query& q) {
             const auto at = std::find(ranks.begin(), ranks.end(), q.integer(1));
             if (at == ranks.end()) return;
             const auto i = static_cast<std::size_t>(at - ranks.begin());
             row.rows[i] = q.integer(2);
             row.bytes[i] = q.integer(3);
           });
}

void read_differences(Context& context, Rows& rows) {
  for_each(context,
           "SELECT r.request, MIN(CASE WHEN a.token <> b.token THEN a.position END) FROM "
           "study_operation r JOIN "
           "study_operation c ON c.case_index = r.case_index AND c.which = r.which AND c.kind = "
           "'cold' JOIN study_token a "
           "ON a.op = c.op JOIN study_token b ON b.op = r.op AND b.position = a.position WHERE "
           "r.kind = 'reload' GROUP BY "
           "r.request",
           rows, [](ReloadRow& row, const schema::Query& q) {
             row.compared = true;
             row.first_difference = q.is_null(1) ? -1 : q.integer(1);
           });
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
  }
  return rows;
}

} // namespace hitproof::audit
