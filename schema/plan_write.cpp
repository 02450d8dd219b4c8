// The canonical text of a plan: fixed order, every key, one way to write each value.
#include "schema/bag.h"
#include "schema/plan.h"
#include "schema/whole_file.h"

#include <cstdio>
#include <filesystem>

namespace hitproof::schema {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04X", byte);
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string list(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values)
    out += (out.size() > 1 ? ", " : "") + quoted(value);
  return out + "]";
}

std::string list(const std::vector<std::uint32_t>& values) {
  std::string out = "[";
  for (const std::uint32_t value : values)
    out += (out.size() > 1 ? ", " : "") + std::to_string(value);
  return out + "]";
}

} // namespace

std::string write_plan(const Plan& plan) {
  std::string out = "# Plan of a Hitproof study, fixed before its first operation.\n";
  const auto line = [&](const char* key, const std::string& value) {
    out += std::string(key) + " = " + value + "\n";
  };
  line("format", std::to_string(plan.format));
  out += "\n[study]\n";
  line("kind", quoted(plan.study));
  line("preset", quoted(plan.preset));
  line("device", quoted(plan.device));
  // Keys of one device or one kind of study are left out where they are empty: other plans keep
  // their bytes.
  if (!plan.device_name.empty()) line("device_name", quoted(plan.device_name));
  line("tp", std::to_string(plan.tp));
  if (!plan.collectives.empty()) line("collectives", quoted(plan.collectives));
  line("lengths", list(plan.lengths));
  line("tokens", std::to_string(plan.tokens));
  if (!plan.templates.empty()) line("templates", list(plan.templates));
  if (plan.bridge_length != 0) {
    line("bridge_length", std::to_string(plan.bridge_length));
    line("bridge_tokens", std::to_string(plan.bridge_tokens));
  }
  if (plan.trials != 0) {
    line("trials", std::to_string(plan.trials));
    line("warmups", std::to_string(plan.warmups));
  }
  line("arms", list(plan.arms));
  line("lookup", quoted(plan.lookup));
  line("probes", quoted(plan.probes));
  line("save_delay_ms", std::to_string(plan.save_delay_ms));
  line("break", quoted(plan.break_name));
  line("tail_effect", quoted(plan.tail_effect));
  out += "\n[seeds]\n";
  line("weights", std::to_string(plan.weight_seed));
  line("prompts", std::to_string(plan.prompt_seed));
  out += "\n[acceptance]\n";
  line("verdict", quoted(plan.acceptance.verdict));
  line("must_pass", list(plan.acceptance.must_pass));
  line("must_fail", list(plan.acceptance.must_fail));
  line("refuted_lengths", list(plan.acceptance.refuted_lengths));
  out += "\n[profile]\nchoices = [\n";
  for (const ProfileChoice& choice : plan.profile)
    out += "  { rank = " + std::to_string(choice.rank) + ", name = " + quoted(choice.name) +
           ", value = " + quoted(choice.value) + " },\n";
  return out + "]\n";
}

Digest plan_sha256(const Plan& plan) { return sha256(write_plan(plan)); }

Digest plan_controls_sha256(const Plan& plan) {
  Plan controls;
  controls.study = plan.study;
  controls.preset = plan.preset;
  controls.device = plan.device;
  controls.device_name = plan.device_name;
  controls.tokens = plan.tokens;
  controls.tp = plan.tp;
  controls.collectives = plan.collectives;
  controls.weight_seed = plan.weight_seed;
  controls.prompt_seed = plan.prompt_seed;
  controls.profile = plan.profile;
  return sha256(write_plan(controls));
}

Result<Digest> store_plan(const std::string& dir, const Plan& plan) {
  Status status = validate_plan(plan);
  if (!status.ok()) return status;
  const std::string text = write_plan(plan);
  const std::string path = dir + "/data/plan.toml";
  const Result<std::string> there = bag::read_text(path, bag::max_info_bytes);
  if (!there.ok() && there.code() != Code::not_found) return there.status();
  if (there.ok() && *there != text)
    return Status(Code::invalid_argument,
                  path + ": another plan stands there; a plan is never changed after its start");
  if (!there.ok()) {
    std::error_code error;
    std::filesystem::create_directories(dir + "/data", error);
    if (error) return Status::from_errno(error.value(), "make " + dir + "/data");
    // Half a plan would be another plan than the one that the next start brings.
    if (Status written = write_whole(path, text); !written.ok()) return written;
  }
  return sha256(text);
}

} // namespace hitproof::schema
