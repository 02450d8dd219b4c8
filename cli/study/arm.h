// One arm of a boundary study: an engine of its own, the operations of study.md section 1, a
// recording.
#pragma once

#include "cli/engine_client.h"
#include "cli/recorder.h"
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
  std::string arm;       // control or candidate
  std::string dir;       // becomes the archive
  std::string reference; // archive of the control arm; empty: none
  std::string title;     // for the progress line
  int force_drop = 0;    // test aid, see ProbeOptions
  // Test aid: an engine with other weights fills the cache server first. Break key-omits-weights
  // always has one; without the break this is its clean twin.
  bool other_engine = false;
  std::string gpus = "0";           // with device cuda: ordinals, comma-separated
  std::string collectives = "auto"; // with device cuda: auto, ipc or nccl
  std::vector<std::string> engine_extra;
  bool quiet = false;
};

// Operations of the plan, in order.
struct Operation {
  size_t case_index;
  uint32_t length;
  const char* kind; // cold, interpose, reset, reload
  char which;       // A, X, Y; ' ' for a reset
};
std::vector<Operation> operations_of(const schema::Plan& plan);

// Host memory in which the external cache holds every checkpoint of the plan, so that none is
// evicted: study.md section 1 asks for all of them.
uint64_t external_bytes_for(const schema::Plan& plan, const PresetFacts& facts);

// Runs the arm and closes its archive. When the engine or the recorder fails on the way, everything
// seen so far stays readable in `dir`, marked as not closed, and the error says what happened.
schema::Status run_arm(const ArmOptions& options);

} // namespace hitproof::cli
