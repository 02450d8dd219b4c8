#include "audit/coverage.h"

#include "audit/rule.h"
#include "audit/tables.h"
#include "audit/trace.h"

namespace hitproof::audit {
namespace {

const char* const registered =
    "(SELECT rank, entry, MAX(name) AS name, MAX(kind) AS kind, MAX(transfer_group) AS "
    "transfer_group, MAX(page_bytes) AS page_bytes, MAX(content_bytes) AS content_bytes, "
    "MAX(transferred) AS transferred FROM entry WHERE origin = 0 GROUP BY rank, entry)";

void read_entries(Context& context, Coverage& coverage) {
  auto q =
      context.query(std::string("SELECT entry, MAX(name), MAX(kind), MAX(transfer_group), "
                                "MAX(page_bytes), MAX(content_bytes), MAX(transferred) FROM ") +
                    registered + " GROUP BY entry ORDER BY entry");
  while (q.next()) {
    coverage.entries.push_back({q.integer(0), q.text(1), q.integer(2), q.integer(3), q.integer(4),
                                q.integer(5), q.integer(6) != 0});
  }
  require(q.status());
}

void read_cells(Context& context, Coverage& coverage) {
  const std::string moved =
      "SELECT t.rank AS rank, p.entry AS entry, t.direction AS direction FROM transfer t JOIN "
      "transfer_page p ON p.transfer = t.transfer JOIN copy c ON c.transfer = p.transfer AND "
      "c.entry = p.entry AND c.block = p.block AND c.process = p.process WHERE p.held = 0 AND "
      "c.result = 0 GROUP BY t.rank, t.direction, p.transfer, p.entry, p.block, p.token_end";
  const std::string sql =
      std::string("SELECT e.rank, e.entry, COALESCE(m.saved, 0), COALESCE(m.loaded, 0), "
                  "COALESCE(v.failing, 0) FROM ") +
      registered +
      " e LEFT JOIN (SELECT rank, entry, SUM(direction = 0) AS saved, SUM(direction = 1) AS loaded "
      "FROM (" +
      moved +
      ") GROUP BY rank, entry) m ON m.rank = e.rank AND m.entry = e.entry LEFT JOIN (SELECT rank, "
      "entry, COUNT(*) AS failing FROM " +
      violations_of("pages") +
      " WHERE effect = 'fail' GROUP BY rank, entry) v ON v.rank = e.rank AND v.entry = e.entry "
      "ORDER BY e.rank, e.entry";
  auto q = context.query(sql);
  while (q.next()) {
    coverage.cells.push_back(
        {q.integer(0), q.integer(1), q.integer(2), q.integer(3), q.integer(4)});
  }
  require(q.status());
  coverage.trace = traced(context, "pages_moved.sql", sql);
}

void fill_groups(Context& context, Coverage& coverage) {
  Table& t = coverage.groups;
  t.id = "entries";
  t.title = "Registered cache entries of one rank, by transfer group";
  t.columns = {{"group", "index"},      {"kind", "", false},  {"entries", "count"},
               {"page", "bytes"},       {"content", "bytes"}, {"padding", "bytes"},
               {"transferred", "count"}};
  const std::string from = std::string("FROM ") + registered +
                           " WHERE rank = (SELECT MIN(rank) FROM entry WHERE origin = 0)";
  const std::string columns = "transfer_group, kind, COUNT(*), MAX(page_bytes), "
                              "MAX(content_bytes), MAX(page_bytes) - MAX(content_bytes), "
                              "SUM(transferred)";
  auto q = context.query("SELECT " + columns + " " + from +
                         " GROUP BY transfer_group, kind ORDER BY transfer_group, kind");
  while (q.next()) {
    const std::string where = " AND transfer_group = " + std::to_string(q.integer(0)) +
                              " AND kind = " + std::to_string(q.integer(1));
    const auto trace = [&](const char* what) {
      return traced(context, "pages.sql", std::string("SELECT ") + what + " " + from + where);
    };
    t.rows.push_back({std::to_string(q.integer(0)), entry_kind_name(q.integer(1)),
                      grouped(q.integer(2)), grouped(q.integer(3)), grouped(q.integer(4)),
                      grouped(q.integer(5)), grouped(q.integer(6))});
    t.traces.push_back({trace("MAX(transfer_group)"),
                        {},
                        trace("COUNT(*)"),
                        trace("MAX(page_bytes)"),
                        trace("MAX(content_bytes)"),
                        trace("MAX(page_bytes) - MAX(content_bytes)"),
                        trace("SUM(transferred)")});
  }
  require(q.status());
}

} // namespace

const char* entry_kind_name(std::int64_t kind) {
  switch (kind) {
  case 0:
    return "mla";
  case 1:
    return "indexer";
  case 2:
    return "state";
  case 3:
    return "tail";
  default:
    return "other";
  }
}

Coverage read_coverage(Context& context) {
  Coverage coverage;
  coverage.ranks = context.ranks();
  read_entries(context, coverage);
  read_cells(context, coverage);
  fill_groups(context, coverage);
  return coverage;
}

} // namespace hitproof::audit
