#include "audit/reloads.h"

#include <algorithm>

namespace hitproof::audit {
namespace {

// Candidates of B_content per loaded state page, folded: a token count stands for the reload if every
// page on every rank can stand for it; where no count does, all counts seen are listed.
void read_content(Context& context, ReloadRow& row) {
  const std::string id = std::to_string(row.request);
  auto q = context.query(
      "WITH page AS (SELECT d.transfer, d.rank, d.entry, d.content FROM page_digest d JOIN transfer t ON t.transfer = "
      "d.transfer JOIN (SELECT rank, entry FROM entry WHERE origin = 0 AND kind = 2 GROUP BY rank, entry) e ON e.rank = "
      "t.rank AND e.entry = d.entry WHERE t.request = " + id + " AND t.direction = 1 AND d.place = 0 AND d.moment = 1), "
      "hit AS (SELECT DISTINCT p.transfer, p.entry, s.tokens FROM page p JOIN state s ON s.rank = p.rank AND s.entry = "
      "p.entry AND s.content = p.content) "
      "SELECT h.tokens, COUNT(*), (SELECT COUNT(*) FROM page) FROM hit h GROUP BY h.tokens ORDER BY h.tokens");
  std::vector<std::int64_t> some;
  while (q.next()) {
    row.content_observed = true;
    some.push_back(q.integer(0));
    if (q.integer(1) == q.integer(2)) row.content.push_back(q.integer(0));
  }
  require(q.status());
  row.unanimous = !row.content.empty();
  if (!row.unanimous) row.content = some;
}

void read_loads(Context& context, ReloadRow& row) {
  const std::string id = std::to_string(row.request);
  row.label = context.number("SELECT CASE WHEN MIN(boundary) = MAX(boundary) THEN MIN(boundary) ELSE -1 END FROM "
                             "transfer WHERE direction = 1 AND request = " + id, -1);
  row.chunks = context.number("SELECT MAX(n) FROM (SELECT COUNT(DISTINCT p.token_end) AS n FROM transfer_page p JOIN "
                              "transfer t ON t.transfer = p.transfer WHERE t.direction = 1 AND t.request = " + id +
                              " GROUP BY t.rank)");
  for (const std::int64_t rank : context.ranks()) {
    auto q = context.query("SELECT COUNT(*), COALESCE(SUM(bytes), 0) FROM (SELECT SUM(c.bytes) AS bytes FROM transfer t "
                           "JOIN transfer_page p ON p.transfer = t.transfer JOIN copy c ON c.transfer = p.transfer AND "
                           "c.entry = p.entry AND c.block = p.block AND c.process = p.process WHERE t.direction = 1 AND "
                           "c.result = 0 AND t.request = " + id + " AND t.rank = " + std::to_string(rank) +
                           " GROUP BY p.entry, p.block, p.token_end)");
    if (q.next()) {
      row.rows.push_back(q.integer(0));
      row.bytes.push_back(q.integer(1));
    }
    require(q.status());
  }
}

void read_difference(Context& context, ReloadRow& row) {
  const std::string twin = "FROM study_operation r JOIN study_operation c ON c.case_index = r.case_index AND c.which = "
                           "r.which AND c.kind = 'cold' JOIN study_token a ON a.op = c.op JOIN study_token b ON b.op = "
                           "r.op AND b.position = a.position WHERE r.kind = 'reload' AND r.request = " +
                           std::to_string(row.request);
  row.compared = context.number("SELECT COUNT(*) " + twin) > 0;
  row.first_difference = context.number("SELECT MIN(a.position) " + twin + " AND a.token <> b.token", -1);
}

} // namespace

std::vector<ReloadRow> reload_rows(Context& context) {
  std::vector<ReloadRow> rows;
  auto q = context.query("SELECT a.request, MAX(r.prompt_tokens), MAX(a.computed), MAX(a.scheduled), MAX(a.drafts), "
                         "MIN(a.t_ns) FROM admission a JOIN (SELECT DISTINCT request FROM transfer WHERE direction = 1) "
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
  for (ReloadRow& row : rows) {
    read_loads(context, row);
    read_content(context, row);
    read_difference(context, row);
    const bool content = !row.content_observed ||
                         (row.unanimous && std::count(row.content.begin(), row.content.end(), row.computed) > 0);
    row.aligned = row.label == row.computed && content && row.scheduled == row.prompt_tokens - row.label &&
                  row.computed <= row.prompt_tokens - 1 && row.drafts == 0;
  }
  return rows;
}

} // namespace hitproof::audit
