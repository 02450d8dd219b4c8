// What a fleet says of each archive beside its tables: where it lay, what its plans are, what an
// audit on the spot answered. A program that reads the fleet alone needs it for the same verdicts.
#include "cli/fleet/fleet_archive.h"
#include "schema/plan_operations.h"

#include <filesystem>

namespace hitproof::cli {
namespace {

using Row = std::vector<schema::MergedValue>;

// Three columns about a plan: digest of the file, digest of what makes arms comparable, or why it
// could not be read.
void add_plan(Row& row, const std::string& path) {
  const auto digest = schema::sha256_file(path);
  const auto plan = schema::read_plan(path);
  row.emplace_back(digest.ok() ? schema::to_hex(*digest) : "");
  row.emplace_back(plan.ok() ? schema::to_hex(schema::plan_controls_sha256(*plan)) : "");
  row.emplace_back(plan.ok() ? "" : plan.status().message());
}

FactTable empty(std::size_t place) {
  FactTable table = fact_tables().at(place);
  return table;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines)
    out += (out.empty() ? "" : "\n") + line;
  return out;
}

std::string names_of(const FleetTable& table) {
  std::string names;
  for (const schema::MergedColumn& c : table.columns)
    names += (names.empty() ? "" : " ") + c.name;
  return names;
}

const char* effect_of(const audit::Finding& f) {
  return f.effect == audit::Verdict::pass ? "note" : audit::verdict_name(f.effect);
}

} // namespace

const std::vector<FactTable>& fact_tables() {
  static const std::vector<FactTable> tables = {
      {fleet_archive_table,
       "An archive of the fleet",
       {{"tagmanifest", "TEXT", "sha256", "of the tag manifest, in hexadecimal digits"},
        {"path", "TEXT", "text", "folder, as it was named"},
        {"recording_format", "INTEGER", "number", "version of the recording"},
        {"arm", "TEXT", "text", "candidate, control, or empty"},
        {"device", "TEXT", "text", "device that was recorded"},
        {"preset", "TEXT", "text", "model preset"},
        {"lookup", "TEXT", "text", "strict, full, or empty"},
        {"has_control", "INTEGER", "0/1", "1 where the control arm is inside"},
        {"plan_sha256", "TEXT", "sha256", "of the plan's file, empty where there is none"},
        {"plan_controls_sha256", "TEXT", "sha256", "of what two comparable arms share"},
        {"plan_error", "TEXT", "text", "why the plan cannot be read, or empty"},
        {"control_plan_sha256", "TEXT", "sha256", "the same for the control arm's plan"},
        {"control_plan_controls_sha256", "TEXT", "sha256", "the same for the control arm's plan"},
        {"control_plan_error", "TEXT", "text", "the same for the control arm's plan"},
        {"plan_study", "TEXT", "text", "kind of the study, empty where there is no plan"},
        {"plan_lengths", "INTEGER", "count", "prompt lengths that the plan asks for"},
        {"plan_operations", "INTEGER", "count", "operations that it asks of this arm"},
        {"rows", "INTEGER", "count", "rows of all its tables"},
        {"paths_walked", "INTEGER", "0/1", "1 where fleet_path has all that is to be said"},
        {"audited", "INTEGER", "0/1", "1 where it was audited on the spot"},
        {"verdict", "TEXT", "text", "pass, fail, inconclusive; empty where nobody audited"}},
       {}},
      {"fleet_table",
       "A table that an archive has, with or without rows",
       {{"name", "TEXT", "text", "its name in the recording"},
        {"control", "INTEGER", "0/1", "1: of the control arm"},
        {"rows", "INTEGER", "count", "rows"},
        {"columns", "TEXT", "text", "names of its columns, with blanks between them"}},
       {}},
      {"fleet_problem",
       "What a verification said of an archive that is not damaged",
       {{"kind", "TEXT", "text", "leftover"},
        {"file", "TEXT", "text", "file, relative to the archive"},
        {"message", "TEXT", "text", "what is wrong"}},
       {}},
      {"fleet_verdict",
       "What the audit on the spot answered, one row a rule",
       {{"rule", "TEXT", "text", "name of the rule"},
        {"verdict", "TEXT", "text", "pass, fail, inconclusive, not_applicable"},
        {"observations", "INTEGER", "count", "what the verdict rests on"},
        {"missing", "TEXT", "text",
         "why it is no pass although nothing wrong was seen, a line each"}},
       {}},
      {"fleet_finding",
       "A kind of violation that the audit on the spot found",
       {{"rule", "TEXT", "text", "name of the rule"},
        {"violation", "TEXT", "text", "identifier"},
        {"effect", "TEXT", "text", "fail, inconclusive, note"},
        {"count", "INTEGER", "count", "violations of this kind"},
        {"words", "TEXT", "text", "the earliest one, as a sentence"}},
       {}},
      {"fleet_path",
       "A load or a save that no path of recorded calls proves to be in order, which no query "
       "tells",
       {{"transfer", "INTEGER", "id", "its number in the recording"}},
       {}},
  };
  return tables;
}

Row FleetArchive::archive_row(std::int64_t rows, const audit::Report* report, bool walked) {
  schema::Recording& r = arm(false);
  Row row = {tag_manifest_,
             dir_,
             r.get_int("format_version", 0),
             r.get_or("arm", ""),
             r.get_or("device", ""),
             r.get_or("preset", ""),
             r.get_or("lookup", ""),
             std::int64_t{control_.has_value()}};
  add_plan(row, dir_ + "/data/plan.toml");
  add_plan(row, dir_ + "/data/reference/plan.toml");
  const auto plan = schema::read_plan(dir_ + "/data/plan.toml");
  row.emplace_back(plan.ok() ? plan->study : "");
  row.emplace_back(plan.ok() ? static_cast<std::int64_t>(plan->lengths.size()) : 0);
  row.emplace_back(plan.ok() ? static_cast<std::int64_t>(
                                   schema::totals_of(*plan, r.get_or("arm", "")).operations)
                             : 0);
  row.emplace_back(rows);
  row.emplace_back(std::int64_t{walked});
  row.emplace_back(std::int64_t{report != nullptr});
  row.emplace_back(report != nullptr ? audit::verdict_name(report->verdict) : "");
  return row;
}

std::vector<FactTable> FleetArchive::facts(const std::vector<std::int64_t>& rows,
                                           const audit::Report* report,
                                           const std::vector<std::int64_t>* without_path) {
  FactTable archive = empty(0), tables = empty(1), problems = empty(2), verdicts = empty(3),
            findings = empty(4), paths = empty(5);
  std::int64_t all = 0;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    all += rows[i];
    tables.rows.push_back(
        {tables_[i].name, std::int64_t{tables_[i].control}, rows[i], names_of(tables_[i])});
  }
  problems.rows = problems_;
  if (report != nullptr) {
    for (const audit::RuleReport& r : report->rules) {
      if (r.name == "order") without_path = &r.without_path;
      verdicts.rows.push_back(
          {r.name, audit::verdict_name(r.verdict), r.observations, joined(r.missing)});
      for (const audit::Finding& f : r.findings)
        findings.rows.push_back({f.rule, f.violation, effect_of(f), f.count, f.words});
    }
  }
  if (without_path != nullptr) {
    for (const std::int64_t transfer : *without_path)
      paths.rows.push_back({transfer});
  }
  archive.rows.push_back(archive_row(all, report, without_path != nullptr));
  // The archive's own row comes last: where it is, everything is.
  return {std::move(tables),   std::move(problems), std::move(verdicts),
          std::move(findings), std::move(paths),    std::move(archive)};
}

} // namespace hitproof::cli
