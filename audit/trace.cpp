#include "audit/trace.h"

#include "audit/rule.h"
#include "audit/screen/screen.h"
#include "schema/shell_word.h"

namespace hitproof::audit {

std::string sql_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string one_line(std::string_view sql) {
  std::string out;
  bool space = false, quoted = false;
  for (std::size_t at = 0; at < sql.size(); ++at) {
    const char c = sql[at];
    if (!quoted && c == '-' && at + 1 < sql.size() && sql[at + 1] == '-') {
      while (at < sql.size() && sql[at] != '\n')
        ++at;
      space = true;
      continue;
    }
    if (!quoted && (c == '\n' || c == ' ' || c == '\t' || c == '\r')) {
      space = true;
      continue;
    }
    if (c == '\'') quoted = !quoted;
    if (space && !out.empty()) out += ' ';
    space = false;
    out += c;
  }
  while (!out.empty() && (out.back() == ';' || out.back() == ' '))
    out.pop_back();
  return out;
}

Trace traced(const Context& context, std::string source, std::string_view statement) {
  std::string before;
  if (context.has_reference() && statement.find("reference.") != std::string_view::npos)
    before += "ATTACH " + sql_quoted(context.reference_path()) + " AS reference; ";
  if (!context.aside_sql().empty()) before += context.aside_sql() + "; ";
  return {std::move(source), before, one_line(statement) + ";"};
}

Trace joined(const Trace& first, const Trace& second) {
  if (first.statement.empty()) return second;
  if (second.statement.empty()) return first;
  // Both preambles are made of the same two statements; the longer one has the other's.
  return {first.source == second.source ? first.source : first.source + ", " + second.source,
          first.before.size() < second.before.size() ? second.before : first.before,
          first.statement + " " + second.statement, first.archive};
}

Figure counted(Context& context, const char* source, std::string name, const std::string& sql) {
  const std::string statement = "SELECT COALESCE((" + one_line(sql) + "), 0)";
  const auto known = context.screen() ? context.screen()->figure(source, name) : std::nullopt;
  const std::int64_t value = known ? *known : context.number(statement);
  return {std::move(name), value, traced(context, source, statement)};
}

std::vector<Figure>
counted_together(Context& context, const char* source,
                 const std::vector<std::pair<std::string, std::string>>& columns,
                 const std::string& from) {
  std::string all;
  for (const auto& [name, expression] : columns)
    all += (all.empty() ? "SELECT " : ", ") + expression;
  std::vector<std::int64_t> row;
  for (const auto& [name, expression] : columns) {
    const auto known = context.screen() ? context.screen()->figure(source, name) : std::nullopt;
    if (known) row.push_back(*known);
  }
  if (row.size() != columns.size()) row = context.first_row(all + " " + from, columns.size());
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string one = "SELECT COALESCE(" + columns[i].second + ", 0) " + from;
    figures.push_back({columns[i].first, row[i], traced(context, source, one)});
  }
  return figures;
}

std::string violations_of(const char* query) { return "(" + one_line(rule_sql(query)) + ")"; }

std::string tables_of(const char* query) {
  const std::string_view sql = rule_sql(query);
  return one_line(sql.substr(0, sql.find("\nSELECT ")));
}

std::string counts_as_fail(const Context& context, const Rule& rule) {
  std::vector<std::string> absent;
  if (context.records_are_missing()) {
    for (const Sentence& s : rule.sentences) {
      if (s.rests_on == RestsOn::absence) absent.emplace_back(s.violation);
    }
  }
  std::string out = "effect = 'fail'";
  if (!absent.empty()) out += " AND violation NOT IN (" + name_list(absent) + ")";
  return out;
}

std::string name_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names)
    out += (out.empty() ? "" : ", ") + sql_quoted(name);
  return out;
}

std::string shell_command(const std::string& dir, const std::string& statement) {
  return "sqlite3 -readonly " + schema::shell_word(dir + "/data/recording.sqlite") + " " +
         schema::shell_word(statement);
}

} // namespace hitproof::audit
