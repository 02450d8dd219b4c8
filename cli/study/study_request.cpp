#include "cli/study/study_request.h"

#include "cli/study/breaks.h"
#include "cli/study/device_options.h"

#include <CLI/CLI.hpp>

namespace hitproof::cli {
namespace {

void add_what_runs(CLI::App& app, StudyRequest& r) {
  StudyOptions& o = r.options;
  add_preset_option(app, o.preset, "Dimensions of the model");
  add_device_options(app, o.device, o.gpus);
  add_rank_options(app, o.tp, o.collectives);
  app.add_option("--lengths", o.lengths,
                 o.kind == "boundary"
                     ? "Prompt lengths in tokens; default: the nine around 2C and 3C"
                     : "Prompt lengths in tokens; default: 2C-1, 2C and 3C")
      ->delimiter(',');
  app.add_option("--lookup", o.lookup, "External lookup: strict, or full (the faulty one)")
      ->check(CLI::IsMember({"strict", "full"}))
      ->capture_default_str();
  app.add_option("--arms", r.arms, "Arms to run")
      ->check(CLI::IsMember({"control", "candidate", "both"}))
      ->capture_default_str();
  app.add_option("--reference", o.reference,
                 "Archive of a control arm run before, for --arms candidate")
      ->type_name("DIR");
  app.add_option("--tokens", o.tokens, "Tokens to generate per operation")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
}

void add_what_one_kind_has(CLI::App& app, StudyRequest& r) {
  StudyOptions& o = r.options;
  if (o.kind == "continuation") {
    app.add_option("--templates", o.templates,
                   "What the prompts are about: ledger (English, arithmetic), rules (Chinese, "
                   "applied in order), code (English about Python)")
        ->delimiter(',')
        ->check(CLI::IsMember({"ledger", "rules", "code"}))
        ->default_str("ledger,rules,code");
    app.add_option("--bridge-tokens", o.bridge_tokens,
                   "Tokens to generate in the first case, which is the first of a boundary study; "
                   "0: no such case")
        ->check(CLI::Range(0, 4096))
        ->capture_default_str();
  }
  if (o.kind == "performance") {
    app.add_option("--order", r.order,
                   "Which arm runs first: off-on, the control arm; on-off, the candidate. Further "
                   "repetitions take turns")
        ->check(CLI::IsMember({"off-on", "on-off"}))
        ->capture_default_str();
    app.add_option("--trials", o.trials,
                   "Measured trials of each length, with prompts of their own")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--warmups", o.warmups, "Trials before them that are set aside")
        ->check(CLI::Range(0, 1000))
        ->capture_default_str();
  }
  if (o.kind != "boundary") {
    app.add_option("--repetitions", r.repetitions,
                   "Run all of it this often, each time with engines of its own; more than one "
                   "go to run-1, run-2, ... below --out")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
  }
}

void add_what_watches(CLI::App& app, StudyRequest& r) {
  StudyOptions& o = r.options;
  std::vector<std::string> breaks;
  for (const auto& spec : break_specs())
    breaks.push_back(spec.name);
  app.add_option("--probes", o.probes,
                 "What the probe does: all, digests (of pages at both ends, nothing else), "
                 "metadata (calls and announcements only) or nothing")
      ->check(CLI::IsMember({"all", "digests", "metadata", "off"}))
      ->capture_default_str();
  app.add_option("--save-delay-ms", o.save_delay_ms, "Delay put into every save, milliseconds")
      ->check(CLI::Range(0, 60000))
      ->capture_default_str();
  app.add_option("--break", o.break_name, "Break the candidate on purpose")
      ->check(CLI::IsMember(breaks));
  if (o.kind == "boundary") {
    app.add_option("--tail-effect", o.tail_effect,
                   "Diagnostic: record pooled keys and flip one byte of each tail at the "
                   "effective or the naive address "
                   "(may change results), or flip nothing (observe)")
        ->check(CLI::IsMember({"observe", "effective", "naive"}));
    app.add_flag("--other-engine", o.other_engine,
                 "Test aid: an engine with other weights fills the cache server first")
        ->group("");
    app.add_option("--force-drop", o.force_drop,
                   "Test aid: the probe loses every n-th page record and counts it")
        ->check(CLI::Range(0, 1000000))
        ->group("");
  }
  app.add_option("--seed", o.seed, "Seed of weights and prompts")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--out", r.out,
                 "Folder for the archives (control, candidate); none of them may hold anything yet")
      ->type_name("DIR")
      ->required();
}

} // namespace

StudyForm add_study_form(CLI::App& app, const std::string& kind, const std::string& words,
                         const std::string& examples) {
  StudyForm form{app.add_subcommand(kind, words), std::make_unique<StudyRequest>()};
  form.request->options = default_options(kind);
  form.app->footer(examples);
  form.app->fallthrough(); // --json and --quiet are the study command's
  add_what_runs(*form.app, *form.request);
  add_what_one_kind_has(*form.app, *form.request);
  add_what_watches(*form.app, *form.request);
  return form;
}

} // namespace hitproof::cli
