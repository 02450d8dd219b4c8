// The boundary study: both arms over lengths around multiples of the checkpoint interval.
#pragma once

#include "cli/study/arm.h"
#include "schema/plan.h"
#include "schema/status.h"

#include <string>
#include <vector>

namespace hitproof::cli {

struct BoundaryOptions {
  std::string preset = "tiny", device = "sim", lookup = "strict", probes = "all", break_name,
              tail_effect;
  std::vector<uint32_t> lengths; // empty: the nine lengths of the preset
  std::vector<std::string> arms = {"control", "candidate"};
  uint32_t tokens = 64;
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

// Makes the plan, checked against what the preset can do. Errors name the option and the remedy.
schema::Result<schema::Plan> boundary_plan(const BoundaryOptions& options,
                                           const PresetFacts& facts);

// Runs the arms into out/control and out/<candidate_dir>. Where an error comes back, everything
// seen so far is in those folders.
schema::Status run_boundary(const BoundaryOptions& options, const std::string& out);

} // namespace hitproof::cli
