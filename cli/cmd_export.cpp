// hitproof export: what an audit found, in the formats that papers, people and CI systems read.
#include "audit/dossier.h"
#include "cli/fleet/export_parquet.h"
#include "cli/output.h"
#include "cli/plain_json.h"
#include "cli/report_output.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

namespace hitproof::cli {
namespace {

constexpr std::size_t most_sarif_runs = 20; // in one file, for GitHub

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names)
    out += (out.empty() ? "" : ", ") + name;
  return out;
}

struct ExportCommand : Command {
  std::vector<std::string> dirs;
  std::string format_name = "csv";
  std::string out_dir;
  std::string only;
  bool despite_damage = false;
  FleetOptions fleet; // parquet
  Format format = Format::csv;

  const char* name() const override { return "export"; }
  const char* summary() const override {
    return "Write what an audit found for papers, people and CI systems";
  }
  const char* examples() const override {
    return "  hitproof export out/demo/candidate --format csv --out tables\n"
           "  hitproof export out/demo/candidate --format latex --table boundary_matrix\n"
           "  hitproof export out/demo/candidate --format html > report.html\n"
           "  hitproof export out/demo/candidate out/demo/full --format sarif > hitproof.sarif\n"
           "  ls -d runs/*/ | hitproof export --from - --format parquet --audit --out fleet\n";
  }
  void add(CLI::App& app) override {
    std::vector<std::string> formats = export_formats();
    formats.emplace_back("parquet"); // records, where the others are what an audit found
    app.add_option("DIR", dirs, "Folders of archives")->type_name("DIR");
    app.add_option("--format", format_name, "What to write (docs/exports.md)")
        ->check(CLI::IsMember(formats))
        ->capture_default_str();
    app.add_option("--out", out_dir,
                   "Folder for the files (csv, latex, svg: one a table or figure); without it "
                   "everything goes to stdout");
    app.add_option("--table", only,
                   "One table alone (csv, latex, json), or one figure (svg); a wrong name is "
                   "answered with those there are");
    app.add_flag("--despite-damage", despite_damage,
                 "Export an archive whose files do not fit its manifests; the damage is a finding");
    add_parquet_options(app, fleet);
  }

  schema::Result<audit::Dossier> dossier_of(const std::string& dir) const {
    audit::DossierOptions options;
    options.refuse_damaged = !despite_damage;
    options.slices = slices_of(format);
    options.coverage = format != Format::sarif && format != Format::junit;
    options.timings = options.coverage;
    auto dossier = audit::make_dossier(dir, options);
    if (dossier.ok() && dirs.size() > 1) tell_apart(*dossier);
    return dossier;
  }

  // Captions and labels of several archives must not be the same.
  void tell_apart(audit::Dossier& dossier) const {
    const auto at = std::find(dirs.begin(), dirs.end(), dossier.report.path) - dirs.begin();
    for (audit::Table& t : dossier.tables)
      t.title += " (archive " + std::to_string(at + 1) + ": " + dossier.report.path + ")";
  }

  // Leaves the wanted table alone; says what there is and answers false where it is not there.
  bool pick(audit::Dossier& dossier, const Output& out) const {
    if (only.empty()) return true;
    const auto parts = out.parts(dossier);
    std::vector<std::string> known = parts;
    if (format == Format::json) {
      for (const audit::Table& t : dossier.tables)
        known.push_back(t.id);
    }
    if (std::find(known.begin(), known.end(), only) == known.end()) {
      complain(known.empty() ? "format " + format_name + " is one document: --table chooses nothing"
                             : "no table '" + only + "' in format " + format_name,
               known.empty() ? "leave out --table" : "choose one of: " + joined(known));
      return false;
    }
    std::erase_if(dossier.tables, [&](const audit::Table& t) { return t.id != only; });
    return true;
  }

  bool make_folder(const std::string& path) const {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) {
      complain("make " + path + ": " + error.message(),
               "choose a folder that can be written with --out");
    }
    return !error;
  }

  static bool close_file(std::ofstream& file, const std::string& path) {
    file.close();
    if (!file)
      complain("write " + path + " failed", "check the room and the rights of this folder");
    if (file) std::cout << path << "\n";
    return bool(file);
  }

  // One file a part; several archives get a folder each, named by their place.
  int write_parts(const audit::Dossier& dossier, std::size_t index) const {
    const std::string folder =
        dirs.size() > 1 ? out_dir + "/" + std::to_string(index + 1) : out_dir;
    if (!make_folder(folder)) return exit_usage;
    const auto probe = make_output(format, std::cout);
    for (const std::string& part : probe->parts(dossier)) {
      if (!only.empty() && part != only) continue;
      const std::string path = folder + "/" + part + "." + probe->suffix();
      std::ofstream file(path, std::ios::binary);
      make_output(format, file)->part(dossier, part);
      if (!close_file(file, path)) return exit_usage;
    }
    return exit_pass;
  }

  // To stdout: CSV tables are told apart by a comment, an SVG file holds one picture alone.
  int print_parts(const audit::Dossier& dossier, Output& out) const {
    std::vector<std::string> parts = out.parts(dossier);
    if (!only.empty()) parts = {only};
    if (format == Format::svg && parts.size() != 1) {
      complain("several figures do not fit into one SVG file",
               "name one with --table (" + joined(parts) + ") or a folder with --out");
      return exit_usage;
    }
    for (const std::string& part : parts) {
      if (format == Format::csv && (parts.size() > 1 || dirs.size() > 1))
        std::cout << "# " << part << "\r\n";
      out.part(dossier, part);
    }
    return exit_pass;
  }

  int write_document() const {
    std::ofstream file;
    std::string path;
    if (!out_dir.empty()) {
      if (!make_folder(out_dir)) return exit_usage;
      path = out_dir + "/" + (format == Format::perfetto ? "trace" : "hitproof") + "." +
             make_output(format, std::cout)->suffix();
      file.open(path, std::ios::binary);
    }
    const auto out = make_output(format, path.empty() ? std::cout : file);
    for (const std::string& dir : dirs) {
      auto dossier = dossier_of(dir);
      if (!dossier.ok()) return complain_about_archive(dossier.status(), dir);
      if (!pick(*dossier, *out)) return exit_usage;
      out->archive(*dossier);
    }
    out->finish();
    if (path.empty()) return exit_pass;
    return close_file(file, path) ? exit_pass : exit_usage;
  }

  int run() override {
    if (format_name == "parquet") {
      fleet.dirs = dirs;
      fleet.quiet = common.quiet;
      return export_parquet(fleet, out_dir, common);
    }
    if (dirs.empty()) {
      complain("export needs archives", "name their folders (--from LIST with --format parquet)");
      return exit_usage;
    }
    if (common.json) format_name = "json";
    format_of(format_name, &format);
    if (format == Format::sarif && dirs.size() > most_sarif_runs) {
      complain("a SARIF file may hold at most 20 runs, one an archive",
               "export " + std::to_string(most_sarif_runs) + " archives at a time");
      return exit_usage;
    }
    if (std::set<std::string>(dirs.begin(), dirs.end()).size() < dirs.size()) {
      complain("one archive is named twice", "name each archive once");
      return exit_usage;
    }
    if (is_document(format)) return write_document();
    const auto out = make_output(format, std::cout);
    for (std::size_t i = 0; i < dirs.size(); ++i) {
      auto dossier = dossier_of(dirs[i]);
      if (!dossier.ok()) return complain_about_archive(dossier.status(), dirs[i]);
      if (!pick(*dossier, *out)) return exit_usage;
      const int code = out_dir.empty() ? print_parts(*dossier, *out) : write_parts(*dossier, i);
      if (code != exit_pass) return code;
    }
    return exit_pass;
  }
};

// --json: the export itself as JSON, or, with a folder, the paths that are printed otherwise.
struct ExportWithJson : ExportCommand {
  const CLI::Option* format_option = nullptr;

  void add(CLI::App& app) override {
    ExportCommand::add(app);
    app.get_option("--out")->type_name("DIR");
    format_option = app.get_option("--format");
  }

  int run() override {
    if (!common.json || format_name == "parquet") return ExportCommand::run();
    if (!out_dir.empty()) return list_files();
    if (format_option->count() == 0 || format_name == "json") return ExportCommand::run();
    complain("--json prints JSON, and format " + format_name + " is none",
             "leave out one of them, or name a folder with --out: --json then lists the files");
    return exit_usage;
  }

  int list_files() {
    common.json = false;
    std::stringstream printed;
    std::streambuf* const stdout_buffer = std::cout.rdbuf(printed.rdbuf());
    const int code = ExportCommand::run();
    std::cout.rdbuf(stdout_buffer);
    if (code != exit_pass) return code;
    std::vector<std::string> files;
    for (std::string path; std::getline(printed, path);)
      files.push_back(path);
    std::cout << plain_json({{"format", format_name}, {"archives", dirs}, {"files", files}});
    return exit_pass;
  }
};

} // namespace

std::unique_ptr<Command> make_export_command() { return std::make_unique<ExportWithJson>(); }

} // namespace hitproof::cli
