// hitproof inspect: what is in an archive, whether it is complete, and what it could not see.
#include "audit/counters.h"
#include "cli/output.h"
#include "cli/recovery.h"
#include "cli/report_output.h"
#include "schema/archive.h"
#include "schema/record_table.h"
#include "schema/recording.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

namespace hitproof::cli {
namespace {

using audit::Table;

// One query as a table; the columns take the query's names.
schema::Result<Table> table_of(schema::Recording& recording, const char* id, const char* title,
                               const std::string& sql) {
  auto q = recording.query(sql);
  if (!q.ok()) return q.status();
  Table t;
  t.id = id;
  t.title = title;
  for (int i = 0; i < q->columns(); ++i)
    t.columns.push_back({q->column_name(i), "", i > 0});
  while (q->next()) {
    std::vector<std::string> row;
    for (int i = 0; i < q->columns(); ++i)
      row.push_back(q->is_null(i) ? "-" : q->text(i));
    t.rows.push_back(std::move(row));
  }
  if (!q->status().ok()) return q->status();
  return t;
}

struct Part {
  const char* id;
  const char* title;
  const char* sql;
};

const Part parts[] = {
    {"facts", "Facts about the recording", "SELECT key AS fact, value FROM recording ORDER BY key"},
    {"processes", "Processes",
     "SELECT p.process AS pid, p.role, p.rank, p.mode AS \"probe mode\", p.exe, COALESCE(x.status, "
     "'unknown') AS status, "
     "COALESCE(x.signal, '-') AS signal FROM process p LEFT JOIN process_exit x ON x.pid = "
     "p.process ORDER BY p.t_ns"},
    {"operations", "Operations of the study",
     "SELECT case_index AS \"case\", prompt_tokens AS N, COUNT(*) AS operations, SUM(status = "
     "'ok') AS ok, "
     "SUM(kind = 'reload') AS reloads, (SELECT COUNT(*) FROM study_token t JOIN study_operation o2 "
     "ON o2.op = t.op WHERE "
     "o2.case_index = o.case_index) AS tokens FROM study_operation o GROUP BY case_index, "
     "prompt_tokens ORDER BY case_index"},
    {"coverage", "Entries covered, by rank",
     "SELECT e.rank, COUNT(*) AS registered, SUM(e.transferred) AS transferred, "
     "(SELECT COUNT(DISTINCT p.entry) FROM transfer_page p JOIN transfer t ON t.transfer = "
     "p.transfer WHERE t.rank = "
     "e.rank AND t.direction = 0) AS saved, (SELECT COUNT(DISTINCT p.entry) FROM transfer_page p "
     "JOIN transfer t ON "
     "t.transfer = p.transfer WHERE t.rank = e.rank AND t.direction = 1) AS loaded FROM (SELECT "
     "rank, entry, "
     "MAX(transferred) AS transferred FROM entry WHERE origin = 0 GROUP BY rank, entry) e GROUP BY "
     "e.rank ORDER BY e.rank"},
    {"paths", "Calls and paths seen",
     "SELECT name, SUM(calls) AS calls, SUM(bytes) AS bytes, SUM(dropped) AS dropped, "
     "MAX(installed) AS hooked FROM " HITPROOF_NEWEST_COUNTERS
     " GROUP BY name HAVING SUM(calls) > 0 OR SUM(dropped) > "
     "0 ORDER BY SUM(calls) DESC"},
    {"copies", "Copies between host and device by process and size (the twelve largest sums)",
     "SELECT c.process, COALESCE((SELECT MAX(p.role) FROM process p WHERE p.process = c.process "
     "AND p.role <> ''), (SELECT MAX(p.exe) FROM process p WHERE p.process = c.process)) AS "
     "program, "
     "CASE c.direction WHEN 0 THEN 'D2H' ELSE 'H2D' END AS direction, c.bytes AS bytes_each, "
     "COUNT(*) AS copies, SUM(c.bytes) AS bytes FROM copy c WHERE c.direction < 2 AND c.result = 0 "
     "GROUP BY c.process, c.direction, c.bytes ORDER BY SUM(c.bytes) DESC LIMIT 12"},
    {"kernels", "Kernels of processes that use another one's memory and announce nothing",
     "SELECT o.process, COALESCE(m.value, '?') AS kernel, COUNT(*) AS launches FROM order_op o "
     "LEFT JOIN meta m ON m.process = o.process AND m.name = 'kernel.' || o.value "
     "WHERE o.op = 16 GROUP BY o.process, o.value ORDER BY COUNT(*) DESC LIMIT 12"},
    {"exclusions", "Excluded", "SELECT id, what, reason FROM exclusion ORDER BY id"},
};

struct InspectCommand : Command {
  std::string dir;

  const char* name() const override { return "inspect"; }
  const char* summary() const override {
    return "Show what an archive contains and whether it is complete";
  }
  const char* examples() const override {
    return "  hitproof inspect out/demo/candidate\n"
           "  hitproof inspect out/demo/candidate --json\n";
  }
  void add(CLI::App& app) override {
    app.add_option("DIR", dir, "Folder of the archive")->type_name("DIR")->required();
  }

  static schema::Result<Table> row_counts(schema::Recording& recording) {
    Table t{"tables",
            "Rows by table",
            {{"table", "", false}, {"rows", "count"}, {"one row says", "", false}},
            {},
            {}};
    for (const schema::RecordInfo& record : schema::all_records()) {
      const auto n = recording.count(record.name);
      if (!n.ok()) return n.status();
      if (*n > 0) t.rows.push_back({record.name, std::to_string(*n), record.says});
    }
    return t;
  }

  void print_json(const std::vector<Table>& tables, bool complete,
                  const std::vector<std::string>& lacks) const {
    nlohmann::ordered_json j;
    j["archive"] = dir;
    j["complete"] = complete;
    j["lacks"] = lacks;
    for (const Table& t : tables) {
      auto rows = nlohmann::ordered_json::array();
      for (const auto& row : t.rows) {
        nlohmann::ordered_json one;
        for (std::size_t i = 0; i < row.size(); ++i)
          one[t.columns[i].name] = row[i];
        rows.push_back(std::move(one));
      }
      j[t.id] = std::move(rows);
    }
    std::cout << j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }

  // Why the recording is not complete; empty where it is.
  static std::vector<std::string> what_lacks(schema::Recording& recording, const std::string& dir) {
    std::vector<std::string> lacks;
    if (!recording.closed())
      lacks.push_back("the recording was never closed");
    else if (recording.closed_reason() != "completed")
      lacks.push_back("it ended as '" + recording.closed_reason() + "'");
    for (const char* key : {"dropped", "gaps", "damaged_slots"}) {
      const std::int64_t n = recording.get_int(key, 0);
      if (n > 0) lacks.push_back(std::string(key) + " = " + std::to_string(n));
    }
    if (!schema::is_archive(dir)) lacks.push_back("the archive has no manifests yet");
    return lacks;
  }

  int run() override {
    recover_leftovers(dir, common.quiet);
    auto opened = schema::Recording::open_existing(dir);
    if (!opened.ok()) return complain_about_archive(opened.status(), dir);
    schema::Recording recording = std::move(opened).value();
    std::vector<Table> tables;
    for (const Part& part : parts) {
      auto t = table_of(recording, part.id, part.title, part.sql);
      if (!t.ok()) return complain_about_archive(t.status(), dir);
      if (!t->rows.empty()) tables.push_back(std::move(t).value());
    }
    auto counts = row_counts(recording);
    if (!counts.ok()) return complain_about_archive(counts.status(), dir);
    tables.push_back(std::move(counts).value());
    const auto lacks = what_lacks(recording, dir);
    if (common.json) {
      print_json(tables, lacks.empty(), lacks);
      return exit_pass;
    }
    const auto out = make_output(Format::text, std::cout, common.color);
    out->line("Archive " + dir);
    for (const Table& t : tables)
      out->table(t);
    std::string words;
    for (const std::string& l : lacks)
      words += (words.empty() ? "" : "; ") + l;
    out->verdict(lacks.empty() ? "The recording is closed and complete."
                               : "INCOMPLETE: " + words + ".",
                 "hitproof audit " + dir);
    return exit_pass;
  }
};

} // namespace

std::unique_ptr<Command> make_inspect_command() { return std::make_unique<InspectCommand>(); }

} // namespace hitproof::cli
