// Rule evidence: whether the recording is complete, unchanged and says what it cannot see.
#include "audit/counters.h"
#include "audit/notes.h"
#include "audit/rule.h"
#include "audit/trace.h"
#include "schema/archive.h"
#include "schema/plan.h"
#include "schema/sha256.h"

#include <filesystem>
#include <string>

namespace hitproof::audit {
namespace {

const Sentence sentences[] = {
    {"records_missing",
     "Process {process}: a thread numbered {expected} records, {actual} are here."},
    {"records_doubled", "Process {process}: a thread wrote {expected} records, {actual} are here."},
    {"not_closed", "The recording was never closed: what came last may be missing."},
    {"not_completed", "The recording ended as '{actual}', before the run was complete."},
    {"records_dropped",
     "Process {process}: {actual} observations of '{expected}' could not be recorded."},
    {"recorder_dropped", "The recorder counted {expected} = {actual}."},
    {"journal_incomplete",
     "Process {process}: the journal of thread {expected} has {actual} gaps, damaged slots or "
     "losses."},
    {"process_died", "Process {process} ({expected}) ended with status or signal {actual}."},
    {"coverage_missing",
     "Process {process} ({expected}) never wrote its coverage counters: what it could not see is "
     "unknown."},
    {"blind_path_used",
     "Process {process}: {expected} was used {actual} times and cannot be observed."},
    {"blind_path_exists",
     "Process {process} asked {actual} times where {expected} is, a call that can move bytes and "
     "has no hook; whether it was used is unknown."},
    {"results_changed_on_purpose",
     "The probe changed results in this run (tail effect): it proves nothing about the "
     "unchanged engine."},
    {"excluded", "Excluded: {expected}. Reason: {actual}."},
    {"plan_changed",
     "The plan in the archive has SHA-256 {actual}, the recording was begun under {expected}."},
    {"plan_missing", "The recording names a plan ({expected}) that is not in the archive."},
    {"plan_not_registered", "No plan was hashed into the recording before the first operation."},
    {"plan_registered_late", "The plan was registered at {actual} ns, after the first operation "
                             "had begun ({expected} ns)."},
    {"control_under_another_plan",
     "The control arm was planned with other controls (their SHA-256 is {actual}) than "
     "this arm ({expected}): preset, device, collectives, tokens, ranks, seeds or kernel "
     "profile differ."},
    {"archive_problem", "{expected}: {actual}."},
};

const char* const tables[] = {"coverage", "process_exit"};
const char* const queries[] = {"evidence"};

void add(Context& context, const Rule& rule, RuleReport& report, const char* id, Verdict effect,
         std::string expected, std::string actual) {
  Violation v;
  v.id = id;
  v.effect = effect;
  v.subject.expected = std::move(expected);
  v.subject.actual = std::move(actual);
  add_finding(context, rule, report, v);
}

void check_plan(Context& context, const Rule& rule, RuleReport& report) {
  const std::string registered = context.fact("plan_sha256");
  const std::string path = context.dir() + "/data/plan.toml";
  if (registered.empty()) {
    // A recording of a foreign program has no plan; a study without one is not preregistered.
    if (context.number("SELECT COUNT(*) FROM study_operation") > 0) {
      add(context, rule, report, "plan_not_registered", Verdict::inconclusive, "", "");
    }
    return;
  }
  const auto digest = schema::sha256_file(path);
  if (!digest.ok()) {
    add(context, rule, report, "plan_missing", Verdict::inconclusive, registered, "");
  } else if (schema::to_hex(*digest) != registered) {
    add(context, rule, report, "plan_changed", Verdict::fail, registered, schema::to_hex(*digest));
  }
  // Recordings of the first programs do not say when.
  const std::int64_t when = context.recording().get_int("plan_registered_ns", 0);
  const std::int64_t first = context.number("SELECT MIN(begin_ns) FROM study_operation", when);
  if (when > first) {
    add(context, rule, report, "plan_registered_late", Verdict::fail, std::to_string(first),
        std::to_string(when));
  }
}

// The control arm may have been run for another study (other lengths, the sound engine); what makes
// the arms comparable must be the same.
void check_control_plan(Context& context, const Rule& rule, RuleReport& report) {
  if (!context.has_reference() || context.fact("plan_sha256").empty()) return;
  const std::string path = context.dir() + "/data/reference/plan.toml";
  const auto own = schema::read_plan(context.dir() + "/data/plan.toml");
  const auto control = schema::read_plan(path);
  if (!own.ok()) {
    report.missing.push_back("the plan cannot be read: " + own.status().message());
    return;
  }
  if (!control.ok()) {
    report.missing.push_back("the control arm's plan cannot be read: " +
                             control.status().message());
    return;
  }
  auto q = context.query("SELECT value FROM reference.recording WHERE key = 'plan_sha256'");
  const std::string registered = q.next() ? q.text(0) : "";
  const auto digest = schema::sha256_file(path);
  if (!digest.ok() || schema::to_hex(*digest) != registered) {
    add(context, rule, report, "plan_changed", Verdict::fail, registered,
        digest.ok() ? schema::to_hex(*digest) : "none");
  }
  const std::string expected = schema::to_hex(schema::plan_controls_sha256(*own));
  const std::string actual = schema::to_hex(schema::plan_controls_sha256(*control));
  if (expected != actual)
    add(context, rule, report, "control_under_another_plan", Verdict::fail, expected, actual);
}

void check_control_recording(Context& context, RuleReport& report) {
  if (!context.has_reference()) return;
  auto q = context.query("SELECT value FROM reference.recording WHERE key = 'closed'");
  if (!q.next() || q.text(0) != "1")
    report.missing.push_back("the control arm's recording was never closed");
}

// The notes named `note` of the processes that count the blind path.
std::string beside(const char* note, const char* path) {
  return std::string("name = '") + note +
         "' AND value NOT LIKE 'kernels for %' AND process IN (SELECT process FROM coverage WHERE "
         "name = '" +
         path + "' AND calls > 0)";
}

// Page work was left out, or another library has hooks beside the probe's.
void say_what_the_probe_noted(Context& context, RuleReport& report) {
  constexpr const char* newer_driver =
      " (the number is the driver's error); install a driver for CUDA 13.0 or later";
  const KnownNote kernels[] = {
      {"device older than", "; run on a GPU of compute capability 8.0 or later"},
      {"built without CUDA", "; build Hitproof where nvcc of CUDA 13 is installed"},
      {"kernels did not load", newer_driver},
      {"kernel not found", newer_driver},
      {"the driver has no ", "; install a driver for CUDA 13.0 or later"}};
  say_notes(context, report, "pages were not looked at",
            beside("page.work", "path:device_memory_unreadable"), kernels);
  const KnownNote memory[] = {
      {"device memory", "; leave the probe that much: lower the program's own share of it"},
      {"pinned host memory", "; leave the probe that much: raise the limits of locked memory "
                             "(ulimit -l) and of the container's memory"}};
  say_notes(context, report, "pages were not looked at",
            beside("page.memory", "path:device_memory_short"), memory);
  const KnownNote hooks[] = {{"", "; record without it (LD_PRELOAD, /etc/ld.so.preload)"}};
  say_notes(context, report, "another library has hooked calls of its own",
            beside("foreign_hook", "path:foreign_hook"), hooks);
}

void judge(Context& context, const Rule& rule, RuleReport& report) {
  context.bring_strangers_back();
  collect(context, rule, "evidence", report);
  say_what_the_probe_noted(context, report);
  check_plan(context, rule, report);
  check_control_plan(context, rule, report);
  check_control_recording(context, report);
  std::int64_t problems = 0;
  const auto archive = context.archive_problems();
  if (!archive.ok()) {
    report.missing.push_back("the archive could not be verified: " + archive.status().message());
  } else {
    for (const schema::ArchiveProblem& p : *archive) {
      ++problems;
      const bool open = p.kind == schema::ArchiveProblemKind::not_closed ||
                        p.kind == schema::ArchiveProblemKind::leftover;
      add(context, rule, report, "archive_problem", open ? Verdict::inconclusive : Verdict::fail,
          p.file.empty() ? schema::archive_problem_name(p.kind) : p.file, p.message);
    }
  }
  const std::int64_t processes = context.number("SELECT COUNT(DISTINCT process) FROM process");
  if (processes == 0) report.missing.push_back("the probe was in no process");
  const auto number = [&](const char* name, const std::string& sql) {
    return counted(context, "evidence.sql", name, sql);
  };
  report.observations = processes;
  report.figures = {
      number("processes", "SELECT COUNT(DISTINCT process) FROM process"),
      {"archive_problems", problems, {"hitproof verify " + context.dir(), "", ""}},
      number("hooks", "SELECT COUNT(DISTINCT name) FROM coverage WHERE installed = 1"),
      number("calls", "SELECT SUM(calls) FROM " HITPROOF_NEWEST_COUNTERS " WHERE name = 'hooks'"),
      number("dropped", "SELECT COALESCE((SELECT SUM(dropped) FROM " HITPROOF_NEWEST_COUNTERS
                        "), 0) + COALESCE((SELECT CAST(value AS INTEGER) FROM recording WHERE "
                        "key = 'dropped'), 0)"),
      number("gaps", "SELECT SUM(gaps) FROM journal_file"),
      number("blind_paths", "SELECT COUNT(DISTINCT name) FROM coverage WHERE name LIKE 'path:%' "
                            "AND installed = 1 AND calls > 0"),
      number("transfers_of_strangers", "SELECT COUNT(*) FROM main.transfer WHERE t_ns < (SELECT "
                                       "MIN(t_ns) FROM main.request)"),
      number("exclusions", "SELECT COUNT(*) FROM exclusion"),
      number("probe_mode", "SELECT MAX(mode) FROM process"),
  };
  report.observed = report.figures.front().trace;
}

} // namespace

const Rule evidence_rule = {"evidence",
                            "The archive is unchanged and closed, nothing was dropped, the plan is "
                            "the one that was registered, and no path "
                            "was used that cannot be observed.",
                            sentences,
                            tables,
                            queries,
                            judge};

} // namespace hitproof::audit
