// `hitproof study boundary`: both arms of the boundary study, then the audit of the candidate.
#include "audit/audit.h"
#include "audit/json.h"
#include "cli/command.h"
#include "cli/report_output.h"
#include "cli/study/boundary.h"
#include "cli/study/breaks.h"
#include "cli/study/device_options.h"
#include "cli/study/interrupt.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

namespace hitproof::cli {
namespace {

using schema::Code;
using schema::Status;

// What a failed study means to the caller: wrong use and a machine that cannot do it are 2; a study
// that began (there is a recording) and did not reach its end proved nothing and is 3.
int code_of(const Status& status) {
  switch (status.code()) {
  case Code::invalid_argument:
  case Code::not_found:
  case Code::no_space:
  case Code::unsupported:
  case Code::busy:
    return exit_usage;
  default:
    return exit_inconclusive;
  }
}

struct StudyCommand : Command {
  BoundaryOptions options;
  std::string out, arms = "both";

  const char* name() const override { return "study"; }
  const char* summary() const override {
    return "Run a study against the reference runtime and audit it";
  }
  const char* examples() const override {
    return "  hitproof study boundary --preset tiny --out out/study\n"
           "  hitproof study boundary --preset micro --lookup full --probes metadata --out "
           "out/full\n"
           "  hitproof study boundary --preset micro --break save-no-wait --out out/broken\n"
           "  hitproof study boundary --preset paper --device cuda --out out/paper\n"
           "  hitproof study boundary --preset paper --tp 2 --device cuda --gpus 0,1 --collectives "
           "nccl --out out/two\n"
           "  hitproof audit out/study/candidate\n";
  }

  void add(CLI::App& app) override {
    auto* study = app.add_subcommand("boundary", "Lengths around multiples of the checkpoint "
                                                 "interval: cold, two interposers, reset, reload");
    study->footer(examples());
    app.require_subcommand(1);
    study->fallthrough(); // --json and --quiet are the study command's
    std::vector<std::string> breaks;
    for (const auto& spec : break_specs())
      breaks.push_back(spec.name);
    add_preset_option(*study, options.preset, "Dimensions of the model");
    add_device_options(*study, options.device, options.gpus);
    add_rank_options(*study, options.tp, options.collectives);
    study
        ->add_option("--lengths", options.lengths,
                     "Prompt lengths in tokens; default: the nine around 2C and 3C")
        ->delimiter(',');
    study
        ->add_option("--lookup", options.lookup,
                     "External lookup: strict, or full (the faulty one)")
        ->check(CLI::IsMember({"strict", "full"}))
        ->capture_default_str();
    study->add_option("--arms", arms, "Arms to run")
        ->check(CLI::IsMember({"control", "candidate", "both"}))
        ->capture_default_str();
    study
        ->add_option("--reference", options.reference,
                     "Archive of a control arm run before, for --arms candidate")
        ->type_name("DIR");
    study->add_option("--tokens", options.tokens, "Tokens to generate per operation")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    study
        ->add_option("--probes", options.probes,
                     "What the probe does: all, digests (of pages at both ends, nothing else), "
                     "metadata (calls and announcements only) or nothing")
        ->check(CLI::IsMember({"all", "digests", "metadata", "off"}))
        ->capture_default_str();
    study
        ->add_option("--save-delay-ms", options.save_delay_ms,
                     "Delay put into every save, milliseconds")
        ->check(CLI::Range(0, 60000))
        ->capture_default_str();
    study->add_option("--break", options.break_name, "Break the candidate on purpose")
        ->check(CLI::IsMember(breaks));
    study
        ->add_option("--tail-effect", options.tail_effect,
                     "Diagnostic: record pooled keys and flip one byte of each tail at the "
                     "effective or the naive address "
                     "(may change results), or flip nothing (observe)")
        ->check(CLI::IsMember({"observe", "effective", "naive"}));
    study
        ->add_flag("--other-engine", options.other_engine,
                   "Test aid: an engine with other weights fills the cache server first")
        ->group("");
    study
        ->add_option("--force-drop", options.force_drop,
                     "Test aid: the probe loses every n-th page record and counts it")
        ->check(CLI::Range(0, 1000000))
        ->group("");
    study->add_option("--seed", options.seed, "Seed of weights and prompts")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    study
        ->add_option(
            "--out", out,
            "Folder for the archives (control, candidate); none of them may hold anything yet")
        ->type_name("DIR")
        ->required();
  }

  // The newest arm that has a recording, or nothing.
  std::string begun() const {
    for (auto arm = options.arms.rbegin(); arm != options.arms.rend(); ++arm) {
      const std::string dir = out + "/" + (*arm == "control" ? "control" : options.candidate_dir);
      if (std::filesystem::exists(dir + "/data/recording.sqlite")) return dir;
    }
    return {};
  }

  std::string remedy(const Status& status) const {
    const std::string dir = begun();
    std::string text;
    if (status.code() == schema::Code::no_space)
      text = "free room on the disk of " + out +
             ", or name a folder elsewhere with --out, and run the study again";
    if (!dir.empty())
      text += (text.empty() ? "" : "; ") + ("hitproof inspect " + dir) + " shows what was recorded";
    if (!text.empty()) return text;
    if (status.code() == schema::Code::not_found)
      return "name a file or folder that is there; hitproof-engine stands beside this program, and "
             "make programs builds it";
    if (status.code() == schema::Code::unsupported)
      return "run it where the message's demand is met, or with --device sim";
    if (status.code() == schema::Code::invalid_argument)
      return "hitproof study boundary --help lists the options and their ranges";
    return "name with --out a new folder where you may write, and run the study again";
  }

  int run() override {
    if (arms != "both") options.arms = {arms};
    options.quiet = common.quiet;
    watch_interrupts();
    if (Status s = run_boundary(options, out); !s.ok()) {
      complain(s.message(), remedy(s));
      return begun().empty() ? exit_usage : code_of(s);
    }
    const std::string dir =
        out + "/" + (options.arms.back() == "control" ? "control" : options.candidate_dir);
    const auto report = audit::audit_archive(dir);
    if (!report.ok()) return complain_about_archive(report.status(), dir);
    if (common.json)
      std::cout << audit::to_json(*report);
    else
      print_report(*make_output(Format::text, std::cout, common.color), *report);
    return exit_code_of(report->verdict);
  }
};

} // namespace

std::unique_ptr<Command> make_study_command() { return std::make_unique<StudyCommand>(); }

} // namespace hitproof::cli
