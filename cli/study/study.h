// The studies against the reference runtime: which arms run, in which order, with which plan. What
// each kind of study consists of is said by its plan (schema/plan_operations.h).
#pragma once

#include "cli/study/arm.h"
#include "schema/plan.h"
#include "schema/status.h"

#include <string>
#include <vector>

namespace hitproof::cli {

struct StudyOptions {
  std::string kind = "boundary"; // or continuation, performance
  std::string preset = "tiny", device = "sim", lookup = "strict", probes = "all", break_name,
              tail_effect;
  std::vector<uint32_t> lengths; // empty: those of the kind of study
  // In order of running; the candidate may come first.
  std::vector<std::string> arms = {"control", "candidate"};
  uint32_t tokens = 64;
  std::vector<std::string> templates; // of a continuation study
  uint32_t bridge_tokens = 0;         // of a continuation study; 0: no bridge
  uint32_t trials = 0, warmups = 0;   // of a performance study
  uint32_t tp = 4;
  int save_delay_ms = 500;
  uint64_t seed = 42;                      // of weights and prompts
  std::string gpus = "0";                  // with device cuda: ordinals, comma-separated
  std::string collectives = "auto";        // with device cuda: auto, ipc or nccl
  std::string reference;                   // archive of a control arm that was run before
  std::string candidate_dir = "candidate"; // name of the candidate's archive in `out`
  std::string title;                       // for the progress line; empty: the arm's name
  int force_drop = 0;
  bool other_engine = false;
  bool quiet = false;
};

// What each kind starts from: the boundary study has 64 tokens, the continuation study three
// templates, 256 tokens and a bridge of 64, the performance study 128 tokens, one warm-up and three
// measured trials, metadata observers and no delay.
StudyOptions default_options(const std::string& kind);

// Makes the plan, checked against what the preset can do. Errors name the option and the remedy.
schema::Result<schema::Plan> make_plan(const StudyOptions& options, const PresetFacts& facts);

// Runs the arms into out/control and out/<candidate_dir>. Where an error comes back, everything
// seen so far is in those folders.
schema::Status run_study(const StudyOptions& options, const std::string& out);

// What to do where the machine gave a study into `out` no room or not what it asked for; empty for
// every other status.
std::string remedy_of_refusal(const schema::Status& status, const std::string& out);

} // namespace hitproof::cli
