// hitproof audit: recompute every verdict from an archive's records.
#include "audit/audit.h"
#include "audit/json.h"
#include "audit/rule.h"
#include "cli/plain_json.h"
#include "cli/recovery.h"
#include "cli/report_output.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace hitproof::cli {
namespace {

struct AuditCommand : Command {
  std::string dir;
  std::string show_sql;
  bool despite_damage = false;

  const char* name() const override { return "audit"; }
  const char* summary() const override {
    return "Recompute every verdict from an archive's records";
  }
  const char* examples() const override {
    return "  hitproof audit out/demo/candidate\n"
           "  hitproof audit out/demo/candidate --json\n"
           "  hitproof audit --sql pages | sqlite3 out/demo/candidate/data/recording.sqlite\n";
  }

  void add(CLI::App& app) override {
    app.add_option("DIR", dir, "Folder of the archive (contains data/recording.sqlite)")
        ->type_name("DIR");
    app.add_option("--sql", show_sql,
                   "Print the query that lists the violations of a rule, and stop")
        ->type_name("RULE");
    app.add_flag(
        "--despite-damage", despite_damage,
        "Audit an archive whose files do not fit its manifests; the damage becomes a finding");
  }

  int print_sql() const {
    std::string known;
    for (const audit::Rule* rule : audit::all_rules()) {
      for (const char* query : rule->queries)
        known += (known.empty() ? "" : ", ") + std::string(query);
    }
    const char* sql = audit::rule_sql(show_sql);
    if (sql == nullptr) {
      complain("no rule query '" + show_sql + "'", "choose one of: " + known);
      return exit_usage;
    }
    if (common.json)
      std::cout << plain_json({{"rule", show_sql}, {"sql", std::string(sql)}});
    else
      std::cout << sql;
    return exit_pass;
  }

  int run() override {
    if (!show_sql.empty()) return print_sql();
    if (dir.empty()) {
      complain("audit needs the folder of an archive", "hitproof audit out/demo/candidate");
      return exit_usage;
    }
    recover_leftovers(dir, common.quiet);
    const auto report = audit::audit_archive(dir, audit::Options{!despite_damage});
    if (!report.ok()) return complain_about_archive(report.status(), dir);
    if (common.json)
      std::cout << audit::to_json(*report);
    else
      print_report(*make_output(Format::text, std::cout, common.color), *report);
    return exit_code_of(report->verdict);
  }
};

} // namespace

std::unique_ptr<Command> make_audit_command() { return std::make_unique<AuditCommand>(); }

} // namespace hitproof::cli
