// `hitproof study`: the arms of a study, then the audit of the last one that ran; each repetition
// by itself.
#include "audit/audit.h"
#include "audit/json.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/report_output.h"
#include "cli/study/study_request.h"

#include <CLI/CLI.hpp>
#include <algorithm>
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
  case Code::refused:
    return exit_usage;
  default:
    return exit_inconclusive;
  }
}

constexpr const char* boundary_examples =
    "  hitproof study boundary --preset tiny --out out/study\n"
    "  hitproof study boundary --preset micro --lookup full --probes metadata --out "
    "out/full\n"
    "  hitproof study boundary --preset micro --break save-no-wait --out out/broken\n"
    "  hitproof study boundary --preset paper --device cuda --out out/paper\n"
    "  hitproof study boundary --preset paper --tp 2 --device cuda --gpus 0,1 --collectives "
    "nccl --out out/two\n"
    "  hitproof audit out/study/candidate\n";

constexpr const char* continuation_examples =
    "  hitproof study continuation --preset micro --repetitions 2 --out out/texts\n"
    "  hitproof export out/texts/run-1/candidate out/texts/run-2/candidate --repetitions --format "
    "csv --table continuation_cases\n"
    "  hitproof study continuation --preset micro --break state-wrong-boundary --out out/broken\n";

constexpr const char* performance_examples =
    "  hitproof study performance --preset paper --device cuda --repetitions 2 --out out/times\n"
    "  hitproof export out/times/run-1/candidate out/times/run-2/candidate --repetitions --format "
    "latex --out out/tables\n"
    "  hitproof study performance --preset micro --order on-off --tokens 16 --out out/order\n";

// A repetition: its options, its folder, and the archive that is audited at its end.
struct Run {
  StudyOptions options;
  std::string out;

  std::string folder_of(const std::string& arm) const {
    return out + "/" + (arm == "control" ? "control" : options.candidate_dir);
  }
  bool has(const char* arm) const {
    return std::count(options.arms.begin(), options.arms.end(), arm) != 0;
  }
  // The candidate has the control arm inside.
  std::string audited() const { return folder_of(has("candidate") ? "candidate" : "control"); }
  // The newest arm that has a recording, or nothing.
  std::string begun() const {
    for (auto arm = options.arms.rbegin(); arm != options.arms.rend(); ++arm) {
      const std::string dir = folder_of(*arm);
      if (std::filesystem::exists(dir + "/data/recording.sqlite")) return dir;
    }
    return {};
  }
};

std::vector<Run> runs_of(const StudyRequest& request, bool quiet) {
  std::vector<Run> runs;
  bool candidate_first = request.order == "on-off";
  for (int n = 1; n <= request.repetitions; ++n) {
    Run run{request.options, request.out};
    run.options.quiet = quiet;
    if (request.arms != "both")
      run.options.arms = {request.arms};
    else if (candidate_first)
      run.options.arms = {"candidate", "control"};
    if (request.repetitions > 1) {
      run.out += "/run-" + std::to_string(n);
      run.options.title = "run " + std::to_string(n) + "/" + std::to_string(request.repetitions);
    }
    // Only there does the order of the arms matter: what runs second meets a warmer machine.
    if (request.options.kind == "performance") candidate_first = !candidate_first;
    runs.push_back(std::move(run));
  }
  return runs;
}

struct StudyCommand : Command {
  std::vector<StudyForm> forms;

  const char* name() const override { return "study"; }
  const char* summary() const override {
    return "Run a study against the reference runtime and audit it";
  }
  const char* examples() const override { return boundary_examples; }

  void add(CLI::App& app) override {
    app.require_subcommand(1);
    forms.push_back(add_study_form(app, "boundary",
                                   "Lengths around multiples of the checkpoint "
                                   "interval: cold, two interposers, reset, reload",
                                   boundary_examples));
    forms.push_back(
        add_study_form(app, "continuation",
                       "Long continuations of texts of three kinds, with the operations "
                       "of the boundary study",
                       continuation_examples));
    forms.push_back(add_study_form(app, "performance",
                                   "Serial times of cold run, repeat and reload, in trials after a "
                                   "warm-up",
                                   performance_examples));
  }

  static std::string remedy(const Status& status, const Run& run) {
    const std::string dir = run.begun();
    std::string text = remedy_of_refusal(status, run.out);
    if (!dir.empty())
      text += (text.empty() ? "" : "; ") + ("hitproof inspect " + dir) + " shows what was recorded";
    if (!text.empty()) return text;
    if (status.code() == schema::Code::not_found)
      return "name a file or folder that is there; hitproof-engine stands beside this program, and "
             "make programs builds it";
    if (status.code() == schema::Code::unsupported)
      return "run it where the message's demand is met, or with --device sim";
    if (status.code() == schema::Code::invalid_argument)
      return "hitproof study " + run.options.kind + " --help lists the options and their ranges";
    return "name with --out a new folder where you may write, and run the study again";
  }

  struct Ended {
    int code;
    bool audited; // it came to its end
  };

  // Runs one repetition; its audit goes to stdout, or as JSON behind `document`.
  Ended run_one(const Run& run, std::string& document) const {
    if (Status s = run_study(run.options, run.out); !s.ok()) {
      complain(s.message(), remedy(s, run));
      return {run.begun().empty() ? exit_usage : code_of(s), false};
    }
    const auto report = audit::audit_archive(run.audited());
    if (!report.ok()) return {complain_about_archive(report.status(), run.audited()), false};
    if (common.json)
      document += (document.empty() ? "" : ",\n") + audit::to_json(*report);
    else
      print_report(*make_output(Format::text, std::cout, common.color), *report);
    return {exit_code_of(report->verdict), true};
  }

  int run() override {
    const auto chosen =
        std::find_if(forms.begin(), forms.end(), [](const auto& f) { return f.app->parsed(); });
    watch_interrupts();
    return run_all(runs_of(*chosen->request, common.quiet));
  }

  // Repetitions stand on their own: what one of them shows is not mended by another. One that did
  // not come to its end is the last, and takes nothing from those before it.
  int run_all(const std::vector<Run>& runs) const {
    std::string document, archives;
    int worst = exit_pass, audited = 0;
    for (const Run& run : runs) {
      const Ended ended = run_one(run, document);
      if (worst == exit_pass || (ended.code != exit_pass && ended.code != exit_inconclusive))
        worst = ended.code;
      if (!ended.audited) break;
      archives += " " + run.audited();
      ++audited;
    }
    if (common.json && audited > 0)
      std::cout << (runs.size() == 1 ? document : "{\"repetitions\": [\n" + document + "]}\n");
    if (!common.json && audited > 1)
      std::cout << "next: hitproof export" << archives
                << " --repetitions --format html --out exports\n";
    return worst;
  }
};

} // namespace

std::unique_ptr<Command> make_study_command() { return std::make_unique<StudyCommand>(); }

} // namespace hitproof::cli
