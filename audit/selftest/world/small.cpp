#include "audit/selftest/world/small.h"

#include "audit/selftest/scratch.h"
#include "schema/archive.h"
#include "schema/plan.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace hitproof::audit::selftest {
namespace fs = std::filesystem;

namespace {

// The plan of small_spec, as a study would register it.
std::string plan_text(std::uint32_t tokens) {
  schema::Plan plan;
  plan.preset = "micro";
  plan.lengths = {255, 256, 257};
  plan.tokens = tokens;
  return schema::write_plan(plan);
}

} // namespace

StudySpec small_spec() {
  StudySpec spec;
  spec.ranks = 2;
  spec.chunk = 128;
  spec.lengths = {255, 256, 257};
  spec.tokens = 16;
  return spec;
}

StudySpec smallest_spec() {
  StudySpec spec = small_spec();
  spec.entries = {.mla = 2, .indexer = 2, .state = 3, .tail = 2};
  return spec;
}

void write_archive(const std::string& dir, StudySpec candidate, bool with_control,
                   std::uint32_t control_tokens) {
  candidate.plan_sha256 = schema::to_hex(schema::sha256(plan_text(16)));
  write_study(dir, candidate);
  std::ofstream(dir + "/data/plan.toml") << plan_text(16);
  if (with_control) {
    StudySpec control = candidate;
    control.arm = "control";
    control.first_pid += 500;
    control.plan_sha256 = schema::to_hex(schema::sha256(plan_text(control_tokens)));
    const ScratchDir other("hitproof-selftest");
    write_study(other.path(), control);
    fs::create_directories(dir + "/data/reference");
    fs::copy_file(other.path() + "/data/recording.sqlite",
                  dir + "/data/reference/recording.sqlite");
    std::ofstream(dir + "/data/reference/plan.toml") << plan_text(control_tokens);
  }
  const auto closed = schema::close_archive(dir);
  if (!closed.ok()) throw std::runtime_error(closed.status().to_string());
}

} // namespace hitproof::audit::selftest
