#include "tests/audit/fixture.h"

#include "schema/archive.h"
#include "schema/plan.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace hitproof::audit::testing {
namespace fs = std::filesystem;

namespace {

void check(const schema::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.to_string());
}

// The plan of small_spec, as a study would register it.
std::string plan_text(std::uint32_t tokens) {
  schema::Plan plan;
  plan.preset = "micro";
  plan.lengths = {255, 256, 257};
  plan.tokens = tokens;
  return schema::write_plan(plan);
}

} // namespace

ScratchDir::ScratchDir() {
  std::string name = (fs::temp_directory_path() / "hitproof-audit-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder: " + name);
  path_ = name;
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

StudySpec small_spec() {
  StudySpec spec;
  spec.ranks = 2;
  spec.chunk = 128;
  spec.lengths = {255, 256, 257};
  spec.tokens = 16;
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
    ScratchDir other;
    write_study(other.path(), control);
    fs::create_directories(dir + "/data/reference");
    fs::copy_file(other.path() + "/data/recording.sqlite",
                  dir + "/data/reference/recording.sqlite");
    std::ofstream(dir + "/data/reference/plan.toml") << plan_text(control_tokens);
  }
  check(schema::close_archive(dir).status());
}

void copy_good_study(const std::string& dir) {
  static const ScratchDir good;
  static const bool made = [] {
    write_archive(good.path(), small_spec());
    return true;
  }();
  static_cast<void>(made);
  fs::copy(good.path(), dir, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
}

void change(const std::string& dir, const std::string& sql, bool reference) {
  const std::string path = dir + (reference ? "/data/reference" : "/data") + "/recording.sqlite";
  auto recording = schema::Recording::open_file(path, schema::Access::read_write);
  check(recording.status());
  check(recording->execute(sql));
}

Report audit_or_throw(const std::string& dir, bool refuse_damaged) {
  auto report = audit_archive(dir, Options{refuse_damaged});
  check(report.status());
  return std::move(report).value();
}

std::string findings_of(const Report& report) {
  std::string out;
  for (const RuleReport& r : report.rules) {
    for (const std::string& m : r.missing)
      out += r.name + ": " + m + "\n";
    for (const Finding& f : r.findings) {
      out += r.name + ": " + f.violation + " (" + verdict_name(f.effect) + ") x" +
             std::to_string(f.count) + ": " + f.words + "\n";
    }
  }
  return out;
}

bool has_finding(const Report& report, const std::string& rule, const std::string& violation) {
  const RuleReport* r = report.rule(rule);
  if (!r) return false;
  for (const Finding& f : r->findings) {
    if (f.violation == violation) return true;
  }
  return false;
}

} // namespace hitproof::audit::testing
