#include "cli/study/demo.h"

#include "audit/audit.h"
#include "audit/before_after.h"
#include "cli/study/breaks.h"
#include "cli/study/study.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace hitproof::cli {
namespace {

namespace fs = std::filesystem;
using schema::Code;
using schema::Status;

constexpr const char* marker_name = ".hitproof-demo";

Status prepare(const std::string& out) {
  std::error_code error;
  if (fs::exists(out, error) && !fs::is_empty(out, error)) {
    if (!fs::exists(fs::path(out) / marker_name, error))
      return Status(
          Code::invalid_argument,
          out + " is not empty and was not made by the demo: name another folder with --out");
    fs::remove_all(out, error);
    if (error) return Status::from_errno(error.value(), "remove the earlier demo in " + out);
  }
  fs::create_directories(out, error);
  if (error) return Status::from_errno(error.value(), "create " + out);
  std::ofstream(fs::path(out) / marker_name) << "made by hitproof demo; replaced by the next one\n";
  return Status();
}

StudyOptions micro(const DemoOptions& o, uint32_t checkpoint) {
  StudyOptions b;
  b.preset = o.broken_preset;
  b.device = o.device;
  b.gpus = o.gpus;
  b.lengths = {2 * checkpoint - 1, 2 * checkpoint, 2 * checkpoint + 1, 3 * checkpoint};
  b.tokens = 16;
  b.save_delay_ms = 50;
  b.quiet = o.quiet;
  return b;
}

class Demo {
 public:
  explicit Demo(const DemoOptions& options) : o_(options) {}

  Status run() {
    if (Status s = prepare(o_.out); !s.ok()) return s;
    auto facts = preset_facts(o_.preset, o_.device, o_.gpus);
    if (!facts.ok()) return facts.status();
    result_.checkpoint = facts->checkpoint;
    if (Status s = sound(); !s.ok()) return s;
    if (Status s = faulty_lookup(); !s.ok()) return s;
    return broken();
  }

  DemoResult take() { return std::move(result_); }

 private:
  void expect(bool holds, const std::string& otherwise) {
    if (!holds) result_.wrong.push_back(otherwise);
  }

  Status audit_into(const std::string& dir, audit::Report* report) {
    auto made = audit::audit_archive(dir);
    if (!made.ok()) return made.status();
    *report = std::move(*made);
    return Status();
  }

  // Part 1.
  Status sound() {
    StudyOptions b;
    b.preset = o_.preset;
    b.device = o_.device;
    b.gpus = o_.gpus;
    b.tokens = o_.tokens;
    b.quiet = o_.quiet;
    b.title = "demo 1/3";
    if (Status s = run_study(b, o_.out); !s.ok()) return s;
    if (Status s = audit_into(o_.out + "/candidate", &result_.candidate); !s.ok()) return s;
    expect(result_.candidate.verdict == audit::Verdict::pass,
           "the strict candidate does not pass: " + result_.candidate.sentence());
    return Status();
  }

  // Part 2.
  Status faulty_lookup() {
    const uint32_t c = result_.checkpoint;
    StudyOptions b;
    b.preset = o_.preset;
    b.device = o_.device;
    b.gpus = o_.gpus;
    b.tokens = o_.tokens;
    b.quiet = o_.quiet;
    b.title = "demo 2/3";
    b.lookup = "full";
    b.probes = "metadata";
    b.lengths = {2 * c, 2 * c + 1, 3 * c};
    b.arms = {"candidate"};
    b.candidate_dir = "full";
    b.reference = o_.out + "/control";
    if (Status s = run_study(b, o_.out); !s.ok()) return s;
    if (Status s = audit_into(o_.out + "/full", &result_.full); !s.ok()) return s;
    expect(result_.full.verdict == audit::Verdict::fail, "full lookup was not refuted");
    expect(result_.full.reloads.size() == b.lengths.size(),
           "full lookup: not every length was reloaded");
    for (const auto& reload : result_.full.reloads) {
      const bool exact = reload.prompt_tokens % c == 0;
      const std::string n = std::to_string(reload.prompt_tokens);
      expect(reload.aligned != exact,
             "full lookup, N = " + n + (exact ? ": B = p was not refuted" : ": B = p was refuted"));
      expect((reload.first_difference >= 0) == exact,
             "full lookup, N = " + n +
                 (exact ? ": the answer does not differ" : ": the answer differs"));
    }
    return Status();
  }

  // Part 3.
  Status broken() {
    auto facts = preset_facts(o_.broken_preset, o_.device, o_.gpus);
    if (!facts.ok()) return facts.status();
    const std::string out = o_.out + "/broken";
    StudyOptions twin = micro(o_, facts->checkpoint);
    twin.title = "demo 3/3 clean twin";
    twin.candidate_dir = "clean";
    if (Status s = run_study(twin, out); !s.ok()) return s;
    if (Status s = audit_into(out + "/clean", &result_.clean); !s.ok()) return s;
    expect(result_.clean.verdict == audit::Verdict::pass,
           "the clean twin of the broken engines does not pass: " + result_.clean.sentence());
    for (const auto& spec : break_specs()) {
      StudyOptions b = micro(o_, facts->checkpoint);
      b.title = "demo 3/3 " + spec.name;
      b.arms = {"candidate"};
      b.candidate_dir = spec.name;
      b.reference = out + "/control";
      b.break_name = spec.name;
      if (Status s = run_study(b, out); !s.ok()) return s;
      audit::Report report;
      if (Status s = audit_into(out + "/" + spec.name, &report); !s.ok()) return s;
      BrokenResult row{spec.name, spec.what, rules_with(report, audit::Verdict::fail),
                       rules_with(report, audit::Verdict::inconclusive), judge_break(spec, report)};
      for (const auto& wrong : row.wrong)
        expect(false, "broken engine " + spec.name + ": " + wrong);
      result_.broken.push_back(std::move(row));
    }
    return Status();
  }

  DemoOptions o_;
  DemoResult result_;
};

} // namespace

schema::Result<DemoResult> run_demo(const DemoOptions& options) {
  Demo demo(options);
  if (Status s = demo.run(); !s.ok()) return s;
  return demo.take();
}

audit::Table boundary_matrix(const DemoResult& result) {
  return audit::boundary_before_after(result.full, result.candidate);
}

audit::Table broken_table(const DemoResult& result) {
  audit::Table table;
  table.id = "broken_engines";
  table.title = "Broken engines (preset micro)";
  table.columns = {{"engine", "", false}, {"what is broken", "", false}};
  table.rows.push_back({"clean twin", "nothing"});
  for (const auto& row : result.broken)
    table.rows.push_back({row.name, row.what});
  return table;
}

audit::Table caught_table(const DemoResult& result) {
  audit::Table table;
  table.id = "caught";
  table.title = "What caught them";
  table.columns = {{"engine", "", false},
                   {"failed", "", false},
                   {"inconclusive", "", false},
                   {"as it must be", "", false}};
  table.rows.push_back({"clean twin", rules_with(result.clean, audit::Verdict::fail),
                        rules_with(result.clean, audit::Verdict::inconclusive),
                        result.clean.verdict == audit::Verdict::pass ? "yes" : "NO"});
  for (const auto& row : result.broken)
    table.rows.push_back(
        {row.name, row.failed, row.inconclusive, row.wrong.empty() ? "yes" : "NO"});
  return table;
}

} // namespace hitproof::cli
