// One arm of a study: an engine of its own, the operations of its plan, a recording.
#pragma once

#include "cli/engine_client.h"
#include "cli/recorder.h"
#include "cli/study/prompts.h"
#include "schema/plan.h"
#include "schema/status.h"

#include <string>
#include <vector>

namespace hitproof::cli {

// What the engine says of a preset.
struct PresetFacts {
  uint32_t checkpoint = 0; // C, tokens
  uint32_t vocabulary = 0;
  uint32_t max_tokens = 0;       // longest prompt and answer together
  uint64_t checkpoint_bytes = 0; // of one checkpoint of one rank
  int32_t end_token = -1;        // id that ends a sequence; -1: the engine has none
  int32_t first_byte_token = -1; // id of byte 0 in its tokenizer; -1: it encodes no text
  std::string device_name;       // of the GPUs, as the driver gives it; empty: the simulated device
  std::vector<std::pair<std::string, std::string>> profile; // kernel choices, name and value
  std::string collectives;                                  // how the ranks sum: host, ipc or nccl
};

// Asks the engine program. Errors: an unknown preset (names the known ones) or a number of ranks
// that it cannot have; a machine that cannot run it on that device.
schema::Result<PresetFacts> preset_facts(const std::string& preset, const std::string& device,
                                         const std::string& gpus, uint32_t tp = 4,
                                         const std::string& collectives = "auto");

struct ArmOptions {
  schema::Plan plan;
  PresetFacts facts;
  std::string arm;                // control or candidate
  std::string dir;                // becomes the archive
  std::string reference;          // archive of the control arm; empty: none
  bool reference_follows = false; // the control arm runs after this one: close_arm() then
  std::string title;              // for the progress line
  int force_drop = 0;             // test aid, see ProbeOptions
  // Test aid: an engine with other weights fills the cache server first. Break key-omits-weights
  // always has one; without the break this is its clean twin.
  bool other_engine = false;
  std::string gpus = "0";           // with device cuda: ordinals, comma-separated
  std::string collectives = "auto"; // with device cuda: auto, ipc or nccl
  std::vector<std::string> engine_extra;
  bool quiet = false;
};

PromptSource prompt_source(const schema::Plan& plan, const PresetFacts& facts);

// Host memory in which the external cache holds every checkpoint of the plan, so that none is
// evicted.
uint64_t external_bytes_for(const schema::Plan& plan, const PresetFacts& facts);

// Runs the arm and closes its archive, unless its control arm is still to come. When the engine or
// the recorder fails on the way, everything seen so far stays readable in `dir`, marked as not
// closed, and the error says what happened.
schema::Status run_arm(const ArmOptions& options);
// Puts the control arm of options.reference into the finished recording in options.dir and closes
// the archive.
schema::Status close_arm(const ArmOptions& options);

} // namespace hitproof::cli
