#include "cli/study/boundary.h"

#include "cli/study/prompts.h"

#include <algorithm>
#include <filesystem>

namespace hitproof::cli {

using schema::Code;
using schema::Status;

schema::Result<schema::Plan> boundary_plan(const BoundaryOptions& o, const PresetFacts& facts) {
  schema::Plan plan;
  plan.preset = o.preset;
  plan.device = o.device;
  plan.device_name = facts.device_name;
  plan.tp = o.tp;
  // The other ways all give the bits of a sum in rank order.
  if (facts.collectives == "nccl") plan.collectives = facts.collectives;
  plan.lengths = o.lengths.empty() ? default_lengths(facts.checkpoint) : o.lengths;
  plan.tokens = o.tokens;
  plan.arms = o.arms;
  plan.lookup = o.lookup;
  plan.probes = o.probes;
  plan.save_delay_ms = o.probes == "all" ? static_cast<uint32_t>(o.save_delay_ms) : 0;
  plan.break_name = o.break_name;
  plan.tail_effect = o.tail_effect;
  plan.weight_seed = plan.prompt_seed = o.seed;
  for (uint32_t length : plan.lengths) {
    if (length < 64)
      return Status(Code::invalid_argument,
                    "--lengths " + std::to_string(length) +
                        ": a prompt has at least 64 tokens here, so that its tag fits");
    if (length + o.tokens > facts.max_tokens)
      return Status(Code::invalid_argument, "--lengths " + std::to_string(length) + ": with " +
                                                std::to_string(o.tokens) +
                                                " tokens it passes the model's limit of " +
                                                std::to_string(facts.max_tokens) + " tokens");
    if (o.lookup == "full") {
      // What a complete hit does to a recurrent state: study.md section 2.
      if (length % facts.checkpoint == 0) plan.acceptance.refuted_lengths.push_back(length);
    }
  }
  if (!plan.acceptance.refuted_lengths.empty() || !o.break_name.empty())
    plan.acceptance.verdict = "fail";
  for (uint32_t rank = 0; rank < plan.tp; ++rank)
    for (const auto& [name, value] : facts.profile)
      plan.profile.push_back({rank, name, value});
  if (Status s = schema::validate_plan(plan); !s.ok()) return s;
  return plan;
}

Status run_boundary(const BoundaryOptions& o, const std::string& out) {
  auto facts = preset_facts(o.preset, o.device, o.gpus, o.tp, o.collectives);
  if (!facts.ok()) return facts.status();
  auto plan = boundary_plan(o, *facts);
  if (!plan.ok()) return plan.status();
  if (!o.reference.empty() && !std::filesystem::exists(o.reference + "/data/recording.sqlite"))
    return Status(Code::not_found,
                  "--reference " + o.reference +
                      " holds no recording of a control arm (data/recording.sqlite)");
  std::string reference = o.reference;
  for (const auto& arm : o.arms) {
    ArmOptions options;
    options.plan = *plan;
    options.facts = *facts;
    options.arm = arm;
    options.title = o.title;
    options.quiet = o.quiet;
    options.gpus = o.gpus;
    options.collectives = o.collectives;
    if (arm == "control") {
      // The control arm is the sound engine by itself, whatever the candidate is.
      options.plan.break_name.clear();
      options.plan.tail_effect.clear();
      options.plan.acceptance = {};
      options.plan.lookup = "strict";
      options.dir = out + "/control";
    } else {
      options.dir = out + "/" + o.candidate_dir;
      options.reference = reference;
      options.force_drop = o.force_drop;
      options.other_engine = o.other_engine;
    }
    if (Status s = run_arm(options); !s.ok()) return s;
    if (arm == "control") reference = options.dir;
  }
  return Status();
}

} // namespace hitproof::cli
