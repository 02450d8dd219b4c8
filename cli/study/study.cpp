#include "cli/study/study.h"

#include <algorithm>
#include <filesystem>

namespace hitproof::cli {

using schema::Code;
using schema::Status;

namespace {

std::vector<uint32_t> lengths_of(const StudyOptions& o, uint32_t checkpoint) {
  if (!o.lengths.empty()) return o.lengths;
  return o.kind == "boundary" ? default_lengths(checkpoint) : three_lengths(checkpoint);
}

// What the prompts of one length need.
Status check_length(const StudyOptions& o, const PresetFacts& facts, uint32_t length,
                    uint32_t tokens) {
  const std::string option = "--lengths " + std::to_string(length) + ": ";
  if (length < 64)
    return Status(Code::invalid_argument,
                  option + "a prompt has at least 64 tokens here, so that its tag fits");
  if (length + tokens > facts.max_tokens)
    return Status(Code::invalid_argument, option + "with " + std::to_string(tokens) +
                                              " tokens it passes the model's limit of " +
                                              std::to_string(facts.max_tokens) + " tokens");
  if (!o.templates.empty() && facts.first_byte_token < 0)
    return Status(Code::unsupported, "preset " + o.preset +
                                         ": its vocabulary has no token for every byte, so that no "
                                         "text can be a prompt; choose another --preset");
  return Status();
}

ArmOptions arm_options(const StudyOptions& o, const schema::Plan& plan, const PresetFacts& facts,
                       const std::string& arm, const std::string& out) {
  ArmOptions options;
  options.plan = plan;
  options.facts = facts;
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
    options.force_drop = o.force_drop;
    options.other_engine = o.other_engine;
  }
  return options;
}

} // namespace

StudyOptions default_options(const std::string& kind) {
  StudyOptions o;
  o.kind = kind;
  if (kind == "continuation") {
    o.tokens = 256;
    o.bridge_tokens = 64;
    o.templates = {"ledger", "rules", "code"};
  } else if (kind == "performance") {
    o.tokens = 128;
    o.warmups = 1;
    o.trials = 3;
    o.probes = "metadata";
    o.save_delay_ms = 0;
  }
  return o;
}

schema::Result<schema::Plan> make_plan(const StudyOptions& o, const PresetFacts& facts) {
  schema::Plan plan;
  plan.study = o.kind;
  plan.preset = o.preset;
  plan.device = o.device;
  plan.device_name = facts.device_name;
  plan.tp = o.tp;
  // The other ways all give the bits of a sum in rank order.
  if (facts.collectives == "nccl") plan.collectives = facts.collectives;
  plan.lengths = lengths_of(o, facts.checkpoint);
  plan.tokens = o.tokens;
  plan.arms = o.arms;
  plan.templates = o.templates;
  if (o.bridge_tokens != 0) {
    plan.bridge_length = default_lengths(facts.checkpoint).front();
    plan.bridge_tokens = o.bridge_tokens;
  }
  plan.trials = o.trials;
  plan.warmups = o.warmups;
  plan.lookup = o.lookup;
  plan.probes = o.probes;
  plan.save_delay_ms = o.probes == "all" ? static_cast<uint32_t>(o.save_delay_ms) : 0;
  plan.break_name = o.break_name;
  plan.tail_effect = o.tail_effect;
  plan.weight_seed = plan.prompt_seed = o.seed;
  for (uint32_t length : plan.lengths) {
    if (Status s = check_length(o, facts, length, std::max(o.tokens, o.bridge_tokens)); !s.ok())
      return s;
    if (o.lookup == "full") {
      // What a complete hit does to a recurrent state: docs/studies.md 2.2.
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

Status run_study(const StudyOptions& o, const std::string& out) {
  auto facts = preset_facts(o.preset, o.device, o.gpus, o.tp, o.collectives);
  if (!facts.ok()) return facts.status();
  auto plan = make_plan(o, *facts);
  if (!plan.ok()) return plan.status();
  if (!o.reference.empty() && !std::filesystem::exists(o.reference + "/data/recording.sqlite"))
    return Status(Code::not_found,
                  "--reference " + o.reference +
                      " holds no recording of a control arm (data/recording.sqlite)");
  const auto has_arm = [&](const char* arm) {
    return std::count(o.arms.begin(), o.arms.end(), arm);
  };
  std::string reference = o.reference;
  std::vector<ArmOptions> waiting; // for their control arm
  for (const auto& arm : o.arms) {
    ArmOptions options = arm_options(o, *plan, *facts, arm, out);
    if (arm == "candidate") {
      options.reference = reference;
      options.reference_follows = reference.empty() && has_arm("control");
      if (options.reference_follows) waiting.push_back(options);
    }
    const Status ran = run_arm(options);
    if (arm == "control") {
      // A control arm that failed is none; the candidate's own records are whole without it.
      if (ran.ok()) reference = options.dir;
      for (ArmOptions& candidate : waiting) {
        candidate.reference = reference;
        if (Status s = close_arm(candidate); !s.ok()) return ran.ok() ? s : ran;
      }
    }
    if (!ran.ok()) return ran;
  }
  return Status();
}

std::string remedy_of_refusal(const Status& status, const std::string& out) {
  if (status.code() == Code::no_space)
    return "free room on the disk of " + out +
           " or raise the limit on file sizes (ulimit -f), or name a folder elsewhere with --out, "
           "and run it again";
  if (status.code() == Code::refused)
    return "raise the limit that the message names (ulimit -a shows all), or name with --out a "
           "folder where you may write, and run it again";
  return {};
}

} // namespace hitproof::cli
