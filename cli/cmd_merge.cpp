// hitproof merge: many archives in one SQLite file, each row with its archive's id.
#include "cli/command.h"
#include "cli/fleet/fleet_run.h"
#include "cli/output.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

namespace hitproof::cli {
namespace {

struct MergeCommand : Command {
  FleetOptions options;
  std::string out;

  const char* name() const override { return "merge"; }
  const char* summary() const override {
    return "Put many archives into one SQLite file, each row with its archive's id";
  }
  const char* examples() const override {
    return "  hitproof merge --out fleet.sqlite runs/monday runs/tuesday\n"
           "  ls -d runs/*/ | hitproof merge --out fleet.sqlite --from - --audit\n"
           "  sqlite3 fleet.sqlite \"SELECT verdict, COUNT(*) FROM fleet_archive GROUP BY "
           "verdict\"\n";
  }
  void add(CLI::App& app) override {
    app.add_option("DIR", options.dirs, "Folders of archives")->type_name("DIR");
    app.add_option("--out", out,
                   "The merged file; archives are added to one that is there, and one that it "
                   "holds already is skipped")
        ->required()
        ->type_name("FILE");
    app.add_option("--from", options.list, "A file with one folder a line; - reads stdin")
        ->type_name("LIST");
    app.add_flag("--audit", options.audit, "Audit each archive and keep its verdicts");
    app.add_flag("--strict", options.strict,
                 "Stop at the first archive that is damaged or cannot be read");
  }

  int run() override {
    options.quiet = common.quiet;
    if (options.dirs.empty() && options.list.empty()) {
      complain("merge needs archives",
               "name their folders, or a list of them with --from (- for stdin)");
      return exit_usage;
    }
    std::error_code ignored;
    const bool is_new = !std::filesystem::exists(out, ignored);
    auto sink = open_merged_file(out);
    if (!sink.ok()) {
      complain(sink.status().message(), sink.code() == schema::Code::no_space
                                            ? "make room, or raise the limit on file sizes, then "
                                              "run the same command again"
                                            : "choose a file that can be written with --out");
      return exit_usage;
    }
    FleetSummary summary;
    const schema::Status status = take_fleet(options, **sink, summary);
    const bool nothing = is_new && summary.added == 0 && !status.ok();
    if (nothing) {
      // A file that was made for this and holds nothing would be taken for a merged one.
      sink->reset();
      std::filesystem::remove(out, ignored);
    }
    if (!status.ok()) {
      const char* again =
          "make room, or raise the limit on file sizes, then run the same command again";
      complain(status.message(),
               (nothing ? "nothing was added; " : "what was added before is there; ") +
                   std::string(again));
    }
    if (common.json) {
      std::cout << fleet_json(summary, out);
    } else {
      const auto text = make_output(Format::text, std::cout, common.color);
      text->verdict(
          (summary.exit_code == exit_pass && status.ok() ? "MERGED: " : "INCOMPLETE: ") +
              fleet_sentence(summary),
          nothing ? "" : "sqlite3 " + out + " \"SELECT archive, path, rows FROM fleet_archive\"");
    }
    return status.ok() ? summary.exit_code : exit_usage;
  }
};

} // namespace

std::unique_ptr<Command> make_merge_command() { return std::make_unique<MergeCommand>(); }

} // namespace hitproof::cli
