#include "audit/table_row.h"

#include "audit/tables.h"
#include "audit/trace.h"

#include <algorithm>
#include <optional>

namespace hitproof::audit {
namespace {

std::optional<std::int64_t> selected(Context& context, const std::string& sql) {
  auto q = context.query(sql);
  std::optional<std::int64_t> out;
  if (q.next() && !q.is_null(0)) out = q.integer(0);
  require(q.status());
  return out;
}

} // namespace

void Row::put(std::string cell, Trace trace) {
  cells_.push_back(std::move(cell));
  traces_.push_back(std::move(trace));
}

void Row::number(Context& context, const char* source, const std::string& sql) {
  const auto n = selected(context, sql);
  put(n ? grouped(*n) : "-", n ? traced(context, source, sql) : Trace{});
}

void Row::number_of(Context& context, const char* source, const std::string& n,
                    const std::string& m) {
  const auto first = selected(context, n), second = selected(context, m);
  if (!first || second.value_or(0) == 0) return words("-");
  put(grouped(*first) + " of " + grouped(*second),
      joined(traced(context, source, n), traced(context, source, m)));
}

void Row::text(Context& context, const char* source, const std::string& sql) {
  auto q = context.query(sql);
  const bool any = q.next() && !q.is_null(0) && !q.text(0).empty();
  require(q.status());
  put(any ? q.text(0) : "-", any ? traced(context, source, sql) : Trace{});
}

bool Row::says_nothing() const {
  return std::all_of(cells_.begin() + 1, cells_.end(),
                     [](const std::string& cell) { return cell == "-"; });
}

void Row::into(Table& table) && {
  table.rows.push_back(std::move(cells_));
  table.traces.push_back(std::move(traces_));
}

std::string at(std::string sql, const std::string& where) {
  for (std::size_t place = sql.find('%'); place != std::string::npos;
       place = sql.find('%', place + where.size()))
    sql.replace(place, 1, where);
  return sql;
}

} // namespace hitproof::audit
