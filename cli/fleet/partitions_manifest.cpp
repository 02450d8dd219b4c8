// _hitproof.json and the units in the files' metadata, made of records.sql, the fact tables and the
// auditor's own list of rules: nothing is said twice.
#include "audit/rule.h"
#include "cli/fleet/parquet_sink.h"
#include "schema/record_table.h"
#include "schema/sha256.h"

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace hitproof::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Described {
  std::string name, type, unit, meaning;
};
using Tables = std::map<std::string, std::vector<Described>>;

std::string between_quotes(const std::string& line) {
  const std::size_t from = line.find('"'), to = line.find('"', from + 1);
  return to == std::string::npos ? "" : line.substr(from + 1, to - from - 1);
}

// A line of records.sql about a column: `  "base" INTEGER NOT NULL, -- address: address of page 0`.
Described column_of(const std::string& line) {
  Described column;
  column.name = between_quotes(line);
  const std::size_t type = line.find("\" ") + 2, comment = line.find("-- ");
  column.type = line.substr(type, line.find_first_of(" ,", type) - type);
  if (comment == std::string::npos) return column;
  const std::string said = line.substr(comment + 3);
  const std::size_t colon = said.find(": ");
  column.unit = said.substr(0, colon);
  if (colon != std::string::npos) column.meaning = said.substr(colon + 2);
  return column;
}

Tables described_tables() {
  Tables tables;
  std::istringstream text(schema::records_sql());
  std::string table;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("CREATE TABLE"))
      table = between_quotes(line);
    else if (line.starts_with("  \""))
      tables[table].push_back(column_of(line));
  }
  const Tables recorded = tables;
  for (const auto& [name, columns] : recorded)
    tables["reference_" + name] = columns;
  for (const FactTable& facts : fact_tables()) {
    for (const FactColumn& c : facts.columns)
      tables[facts.name].push_back({c.name, c.type, c.unit, c.meaning});
  }
  return tables;
}

const Tables& all_tables() {
  static const Tables tables = described_tables();
  return tables;
}

Json rule_json(const audit::Rule& rule) {
  Json j = {{"name", rule.name}, {"optional", rule.optional}};
  j["queries"] = Json::object();
  for (const char* query : rule.queries)
    j["queries"][query] = schema::to_hex(schema::sha256(audit::rule_sql(query)));
  j["rests_on_absence"] = Json::array();
  for (const audit::Sentence& s : rule.sentences)
    if (s.rests_on == audit::RestsOn::absence) j["rests_on_absence"].push_back(s.violation);
  return j;
}

} // namespace

std::string partitions_manifest() {
  Json j = {{"format", schema::merged_format_version}};
  j["integers"] = "64 bits, signed; unsigned values of a recording have the same bits";
  j["tables"] = Json::object();
  for (const auto& [name, columns] : all_tables()) {
    Json list = Json::array();
    for (const Described& c : columns)
      list.push_back(
          {{"name", c.name}, {"type", c.type}, {"unit", c.unit}, {"meaning", c.meaning}});
    j["tables"][name] = std::move(list);
  }
  j["rules"] = Json::array();
  for (const audit::Rule* rule : audit::all_rules())
    j["rules"].push_back(rule_json(*rule));
  return j.dump(1) + "\n";
}

std::string units_json(const std::string& table) {
  Json units = Json::object();
  const auto at = all_tables().find(table);
  if (at != all_tables().end()) {
    for (const Described& c : at->second)
      units[c.name] = c.unit;
  }
  return units.dump();
}

} // namespace hitproof::cli
