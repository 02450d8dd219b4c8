// hitproof export: what an audit found, in the formats that papers, people and CI systems read.
#include "audit/together.h"
#include "cli/fleet/export_parquet.h"
#include "cli/output.h"
#include "cli/plain_json.h"
#include "cli/report_output.h"
#include "schema/whole_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
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
  bool despite_damage = false, together = false, repetitions = false;
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
           "  hitproof export out/run1 out/run2 --repetitions --format pdf --table timings > "
           "t.pdf\n"
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
                   "Folder for the files (csv, latex, svg, pdf: one a table or figure); without it "
                   "everything goes to stdout");
    app.add_option("--table", only,
                   "One table alone (csv, latex, json), or one figure (svg, pdf); a wrong name is "
                   "answered with those there are");
    app.add_flag("--together", together,
                 "One set of tables over all archives, a row or a column for each; nothing is "
                 "pooled (csv, latex, json, svg, pdf)");
    app.add_flag("--repetitions", repetitions,
                 "As --together, for archives declared to repeat one plan: their generations are "
                 "compared, and the figure of times shows them in one group; refused where the "
                 "plans differ");
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
    if (dossier.ok() && dirs.size() > 1 && !together) tell_apart(*dossier);
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
    narrow(dossier);
    return true;
  }

  void narrow(audit::Dossier& dossier) const {
    if (only.empty()) return;
    std::erase_if(dossier.tables, [&](const audit::Table& t) { return t.id != only; });
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

  static bool keep(schema::WholeFile& file, const std::string& path) {
    const schema::Status status = file.keep();
    if (!status.ok())
      complain(status.message(), "make room or choose another folder with --out; what is there "
                                 "under its final name is whole");
    if (status.ok()) std::cout << path << "\n";
    return status.ok();
  }

  // One file a part; several archives get a folder each, named by their place.
  int write_parts(const audit::Dossier& dossier, std::size_t index) const {
    const std::string folder =
        dirs.size() > 1 && !together ? out_dir + "/" + std::to_string(index + 1) : out_dir;
    if (!make_folder(folder)) return exit_usage;
    const auto probe = make_output(format, std::cout);
    for (const std::string& part : probe->parts(dossier)) {
      if (!only.empty() && part != only) continue;
      const std::string path = folder + "/" + part + "." + probe->suffix();
      schema::WholeFile file(path);
      make_output(format, file.stream())->part(dossier, part);
      if (!keep(file, path)) return exit_usage;
    }
    return exit_pass;
  }

  // To stdout: CSV tables are told apart by a comment, an SVG file holds one picture alone.
  int print_parts(const audit::Dossier& dossier, Output& out) const {
    std::vector<std::string> parts = out.parts(dossier);
    if (!only.empty()) parts = {only};
    if ((format == Format::svg || format == Format::pdf) && parts.size() != 1) {
      complain(parts.empty() ? "there is no figure to show"
                             : "several figures do not fit into one file",
               "name one with --table (" + joined(parts) + ") or a folder with --out");
      return exit_usage;
    }
    for (const std::string& part : parts) {
      if (format == Format::csv && (parts.size() > 1 || (dirs.size() > 1 && !together)))
        std::cout << "# " << part << "\r\n";
      out.part(dossier, part);
    }
    return exit_pass;
  }

  int put_each(Output& out) const {
    for (const std::string& dir : dirs) {
      auto dossier = dossier_of(dir);
      if (!dossier.ok()) return complain_about_archive(dossier.status(), dir);
      if (!pick(*dossier, out)) return exit_usage;
      out.archive(*dossier);
    }
    return exit_pass;
  }

  int put_together(Output& out) const {
    std::vector<audit::Dossier> members;
    audit::Dossier all;
    if (const int code = read_together(members, all); code != exit_pass) return code;
    if (!pick(all, out)) return exit_usage;
    for (audit::Dossier& member : members) {
      narrow(member);
      out.archive(member);
    }
    out.together(all);
    return exit_pass;
  }

  int write_document() const {
    std::optional<schema::WholeFile> file;
    std::string path;
    if (!out_dir.empty()) {
      if (!make_folder(out_dir)) return exit_usage;
      path = out_dir + "/" + (format == Format::perfetto ? "trace" : "hitproof") + "." +
             make_output(format, std::cout)->suffix();
      file.emplace(path);
    }
    const auto out = make_output(format, file ? file->stream() : std::cout);
    const int code = together ? put_together(*out) : put_each(*out);
    if (code != exit_pass) return code;
    out->finish();
    return !file || keep(*file, path) ? exit_pass : exit_usage;
  }

  schema::Result<audit::Dossier> joined_up(const std::vector<audit::Dossier>& members) const {
    audit::TogetherOptions options;
    std::set<std::string> seen;
    for (const std::string& dir : dirs) {
      const auto path = std::filesystem::path(dir + "/").lexically_normal().parent_path();
      options.names.push_back(path.filename().string());
      seen.insert(options.names.back());
    }
    if (seen.size() < dirs.size() || seen.count("") > 0) options.names = dirs;
    options.repetitions = repetitions;
    return audit::put_together(members, options);
  }

  static int refuse(const schema::Status& status) {
    const bool refused = status.code() == schema::Code::invalid_argument;
    complain(status.message(),
             refused ? "use --together, which pools nothing, or leave it out"
                     : "see `hitproof verify ARCHIVE` of each; export the sound ones");
    return refused ? exit_usage : exit_damaged;
  }

  int refuse_together() const {
    complain("format " + format_name + " shows archives one by one",
             "--together and --repetitions need csv, latex, json, svg or pdf");
    return exit_usage;
  }

  // Every archive, and what they are together. An exit code; what went wrong has been said.
  int read_together(std::vector<audit::Dossier>& members, audit::Dossier& all) const {
    for (const std::string& dir : dirs) {
      auto dossier = dossier_of(dir);
      if (!dossier.ok()) return complain_about_archive(dossier.status(), dir);
      members.push_back(std::move(dossier).value());
    }
    auto joined = joined_up(members);
    if (!joined.ok()) return refuse(joined.status());
    all = std::move(joined).value();
    return exit_pass;
  }

  // All archives in one set of files.
  int write_together() const {
    std::vector<audit::Dossier> members;
    audit::Dossier all;
    if (const int code = read_together(members, all); code != exit_pass) return code;
    const auto out = make_output(format, std::cout);
    if (!pick(all, *out)) return exit_usage;
    return out_dir.empty() ? print_parts(all, *out) : write_parts(all, 0);
  }

  int run() override {
    together |= repetitions;
    if (format_name == "parquet") {
      if (together) return refuse_together();
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
    if (together && !takes_together(format)) return refuse_together();
    if (together && dirs.size() < 2) {
      complain("tables over several archives need several", "name their folders");
      return exit_usage;
    }
    if (is_document(format)) return write_document();
    if (together) return write_together();
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
