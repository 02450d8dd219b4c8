// hitproof diff: what differs between two archives.
#include "audit/diff.h"
#include "cli/output.h"
#include "cli/report_output.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

namespace hitproof::cli {
namespace {

struct DiffCommand : Command {
  std::string a, b;
  std::vector<std::string> parts;
  bool despite_damage = false;

  const char* name() const override { return "diff"; }
  const char* summary() const override { return "Show what differs between two archives"; }
  const char* examples() const override {
    return "  hitproof diff out/demo/candidate out/demo/full\n"
           "  hitproof diff yesterday today --only verdicts,findings,boundary,tokens\n"
           "  hitproof diff yesterday today --json\n";
  }

  void add(CLI::App& app) override {
    app.add_option("A", a, "Folder of the one archive")->type_name("DIR")->required();
    app.add_option("B", b, "Folder of the other")->type_name("DIR")->required();
    app.add_option(
           "--only", parts,
           "Compare these parts alone. Figures hold measured times and call counts, which differ "
           "between any two runs")
        ->delimiter(',')
        ->check(CLI::IsMember(audit::diff_parts()));
    app.add_flag("--despite-damage", despite_damage,
                 "Compare archives whose files do not fit their manifests");
  }

  void print_json(const std::vector<audit::Difference>& list) const {
    nlohmann::ordered_json j = {{"a", a}, {"b", b}, {"equal", list.empty()}};
    j["compared"] = parts.empty() ? audit::diff_parts() : parts;
    j["differences"] = nlohmann::ordered_json::array();
    for (const audit::Difference& d : list)
      j["differences"].push_back({{"part", d.part}, {"what", d.what}, {"a", d.a}, {"b", d.b}});
    std::cout << j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }

  void print_text(const std::vector<audit::Difference>& list) const {
    const auto out = make_output(Format::text, std::cout, common.color);
    std::map<std::string, audit::Table> tables;
    for (const audit::Difference& d : list) {
      audit::Table& t = tables[d.part];
      t.columns = {{"what", "", false}, {"A", "", false}, {"B", "", false}};
      t.rows.push_back({d.what, d.a, d.b});
    }
    out->line("A " + a);
    out->line("B " + b);
    for (const std::string& part : audit::diff_parts()) {
      const auto at = tables.find(part);
      if (at == tables.end()) continue;
      at->second.title = part + ": " + std::to_string(at->second.rows.size()) +
                         (at->second.rows.size() == 1 ? " difference" : " differences");
      out->table(at->second);
    }
    if (list.empty())
      out->verdict("EQUAL: nothing that was compared differs.", "");
    else
      out->verdict("DIFFERENT: " + std::to_string(list.size()) +
                       (list.size() == 1 ? " difference." : " differences."),
                   "hitproof export " + a + " " + b + " --format html --out report");
  }

  int run() override {
    const auto options = audit::Options{!despite_damage};
    const auto list = audit::diff_archives(a, b, parts, options);
    if (!list.ok()) {
      // The message names the folder; the remedy needs to know which it was.
      const bool second = list.status().message().find(b) != std::string::npos &&
                          list.status().message().find(a) == std::string::npos;
      return complain_about_archive(list.status(), second ? b : a);
    }
    if (common.json)
      print_json(*list);
    else
      print_text(*list);
    return list->empty() ? exit_pass : exit_finding;
  }
};

} // namespace

std::unique_ptr<Command> make_diff_command() { return std::make_unique<DiffCommand>(); }

} // namespace hitproof::cli
