// hitproof export: an audit's tables for papers and spreadsheets.
#include "audit/audit.h"
#include "audit/tables.h"
#include "cli/output.h"
#include "cli/report_output.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace hitproof::cli {
namespace {

struct ExportCommand : Command {
  std::string dir;
  std::string format = "csv";
  std::string out_dir;
  std::string only;

  const char* name() const override { return "export"; }
  const char* summary() const override {
    return "Write an audit's tables as CSV or LaTeX (booktabs)";
  }
  const char* examples() const override {
    return "  hitproof export out/demo/candidate --format csv --out tables\n"
           "  hitproof export out/demo/candidate --format latex --table boundary_matrix\n";
  }
  void add(CLI::App& app) override {
    app.add_option("DIR", dir, "Folder of the archive")->required();
    app.add_option("--format", format, "csv or latex")
        ->check(CLI::IsMember({"csv", "latex"}))
        ->capture_default_str();
    app.add_option("--out", out_dir,
                   "Folder for one file a table; without it everything goes to stdout");
    app.add_option("--table", only,
                   "One table alone: boundary_matrix, regression, rules or findings");
  }

  int write_files(const std::vector<audit::Table>& tables, Format f) const {
    std::error_code error;
    std::filesystem::create_directories(out_dir, error);
    if (error) {
      complain("make " + out_dir + ": " + error.message(),
               "choose a folder that can be written with --out");
      return exit_usage;
    }
    for (const audit::Table& t : tables) {
      const std::string path = out_dir + "/" + t.id + "." + make_output(f, std::cout)->suffix();
      std::ofstream file(path, std::ios::binary);
      make_output(f, file)->table(t);
      file.close();
      if (!file) {
        complain("write " + path + " failed", "check the room and the rights of this folder");
        return exit_usage;
      }
      std::cout << path << "\n";
    }
    return exit_pass;
  }

  int run() override {
    if (common.json) {
      complain("export writes csv or latex",
               "hitproof audit " + dir + " --json gives the same figures as JSON");
      return exit_usage;
    }
    const auto report = audit::audit_archive(dir);
    if (!report.ok()) return complain_about_archive(report.status(), dir);
    std::vector<audit::Table> tables = audit::report_tables(*report);
    if (!only.empty()) {
      std::erase_if(tables, [&](const audit::Table& t) { return t.id != only; });
      if (tables.empty()) {
        complain("no table '" + only + "'",
                 "choose one of: boundary_matrix, regression, rules, findings");
        return exit_usage;
      }
    }
    const Format f = format == "latex" ? Format::latex : Format::csv;
    if (!out_dir.empty()) return write_files(tables, f);
    const auto out = make_output(f, std::cout);
    for (const audit::Table& t : tables) {
      if (f == Format::csv && tables.size() > 1) std::cout << "# " << t.id << "\r\n";
      out->table(t);
    }
    return exit_pass;
  }
};

} // namespace

std::unique_ptr<Command> make_export_command() { return std::make_unique<ExportCommand>(); }

} // namespace hitproof::cli
