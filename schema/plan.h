// The plan of a study (`data/plan.toml`): what will be run and what will count as a pass, written
// and hashed before the first operation. Parsing is strict: an unknown key, a wrong type or a value
// out of range is refused with file, line and remedy. write() is canonical: equal plans give equal
// bytes, so that the SHA-256 of the text names the plan.
#pragma once

#include "schema/sha256.h"
#include "schema/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hitproof::schema {

struct ProfileChoice {
  std::uint32_t rank = 0;
  std::string name;  // of the kernel choice
  std::string value; // what the profile pins it to
  bool operator==(const ProfileChoice&) const = default;
};

struct Acceptance {
  std::string verdict = "pass";       // verdict of the audit that the plan predicts: pass, fail
  std::vector<std::string> must_pass; // rule families
  std::vector<std::string> must_fail; // rule families that must find something
  std::vector<std::uint32_t> refuted_lengths; // lengths whose reload must differ, and no others
  bool operator==(const Acceptance&) const = default;
};

struct Plan {
  int format = 1;
  std::string study = "boundary"; // or continuation, performance
  std::string preset = "tiny";
  std::string device = "sim";
  std::string device_name;            // as the driver names it; empty: the simulated device
  std::string collectives;            // nccl, or empty: sums in rank order, whatever the way
  std::vector<std::uint32_t> lengths; // prompt tokens, in order of running
  std::uint32_t tokens = 64;          // generated per operation
  // Of a continuation study: what its prompts are about, and the case of a boundary study that it
  // begins with (0, 0: none).
  std::vector<std::string> templates;
  std::uint32_t bridge_length = 0, bridge_tokens = 0;
  // Of a performance study: measured trials of each length, after warm-up trials that do not count.
  std::uint32_t trials = 0, warmups = 0;
  std::vector<std::string> arms = {"control", "candidate"};
  std::string lookup = "strict"; // strict, full
  std::string probes = "all";    // all, digests, metadata, off
  std::uint32_t save_delay_ms = 0;
  std::string break_name;  // empty: a sound engine
  std::string tail_effect; // empty, observe, effective, naive
  std::uint32_t tp = 4;
  std::uint64_t weight_seed = 42;
  std::uint64_t prompt_seed = 42;
  std::vector<ProfileChoice> profile; // seven per rank, or empty where nothing is pinned
  Acceptance acceptance;
  bool operator==(const Plan&) const = default;
};

inline constexpr std::size_t profile_choices_per_rank = 7;

// Parses and validates. `name` appears in messages: "plan.toml:12: ...".
Result<Plan> parse_plan(std::string_view toml, std::string_view name = "plan.toml");
Result<Plan> read_plan(const std::string& path);
// What parse_plan checks beyond syntax, for plans made in memory.
Status validate_plan(const Plan& plan);
// Canonical TOML text.
std::string write_plan(const Plan& plan);
Digest plan_sha256(const Plan& plan); // of write_plan(plan)
// Of what two arms must share to be compared: preset, device, collectives, tokens, ranks, seeds and
// kernel profile. Lengths, lookup, probes, delays and breaks may differ.
Digest plan_controls_sha256(const Plan& plan);
// Writes `<dir>/data/plan.toml` (never over an existing, different one) and returns its digest.
Result<Digest> store_plan(const std::string& dir, const Plan& plan);

} // namespace hitproof::schema
