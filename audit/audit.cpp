#include "audit/audit.h"

#include "audit/reloads.h"
#include "audit/rule.h"
#include "schema/archive.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <unistd.h>

namespace hitproof::audit {
namespace {

// Damage that makes the records themselves doubtful; an archive that is merely not closed is not
// damaged.
bool is_damage(const schema::ArchiveProblem& problem) {
  return problem.kind != schema::ArchiveProblemKind::not_closed &&
         problem.kind != schema::ArchiveProblemKind::leftover;
}

schema::Status refuse_damage(const std::string& dir, const Context::Verified& problems) {
  if (!problems.ok()) return problems.status();
  for (const schema::ArchiveProblem& p : *problems) {
    if (p.kind != schema::ArchiveProblemKind::newer_format) continue;
    return schema::Status(schema::Code::newer_format, dir + "/" + p.file + ": " + p.message);
  }
  std::string words;
  int shown = 0;
  for (const schema::ArchiveProblem& p : *problems) {
    if (!is_damage(p) || ++shown > 5) continue;
    words += (words.empty() ? "" : "; ") + p.file + ": " + p.message;
  }
  if (shown == 0) return {};
  if (shown > 5) words += "; and " + std::to_string(shown - 5) + " more";
  return schema::Status(schema::Code::corruption, dir + ": the archive is damaged: " + words);
}

class Stopwatch {
 public:
  explicit Stopwatch(const Took& took) : took_(took) {}
  // Since the call before.
  void lap(const std::string& part) {
    const auto now = std::chrono::steady_clock::now();
    if (took_) took_(part, std::chrono::duration<double>(now - begin_).count());
    begin_ = now;
  }

 private:
  const Took& took_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Report audit(Context& context, Stopwatch& watch) {
  Report report;
  report.path = context.dir();
  report.arm = context.arm();
  report.lookup = context.fact("lookup");
  report.device = context.fact("device");
  report.preset = context.fact("preset");
  report.has_reference = context.has_reference();
  report.verdict = Verdict::not_applicable;
  for (const Rule* rule : all_rules()) {
    RuleReport r;
    r.name = rule->name;
    r.proves = rule->proves;
    rule->judge(context, *rule, r);
    conclude(r);
    watch.lap(rule->name);
    if (rule->optional && r.verdict == Verdict::not_applicable) continue;
    report.verdict = worse(report.verdict, r.verdict);
    report.rules.push_back(std::move(r));
  }
  if (report.verdict == Verdict::not_applicable) report.verdict = Verdict::inconclusive;
  report.reloads = reload_rows(context);
  watch.lap("reloads");
  auto excluded = context.query("SELECT what, reason FROM exclusion ORDER BY id");
  while (excluded.next())
    report.exclusions.push_back(excluded.text(0) + ": " + excluded.text(1));
  require(excluded.status());
  return report;
}

// Where SQLite puts its temporary files (sqlite.org/tempfiles.html, section 5).
std::string temporary_folder() {
  for (const char* name : {"SQLITE_TMPDIR", "TMPDIR"}) {
    const char* folder = std::getenv(name);
    if (folder != nullptr && ::access(folder, W_OK | X_OK) == 0) return folder;
  }
  for (const char* folder : {"/var/tmp", "/usr/tmp", "/tmp"})
    if (::access(folder, W_OK | X_OK) == 0) return folder;
  return ".";
}

// An audit writes nothing but temporary tables, so whatever found no room was one of them.
schema::Status explained(const schema::Status& status) {
  if (status.code() != schema::Code::no_space) return status;
  return schema::Status(schema::Code::no_space,
                        temporary_folder() + " has no room left for the temporary tables of the "
                                             "audit: free some, or name another folder in "
                                             "SQLITE_TMPDIR");
}

} // namespace

schema::Result<Report> audit_archive(const std::string& dir, const Options& options) {
  std::error_code error;
  if (!std::filesystem::is_directory(dir, error)) {
    return schema::Status(schema::Code::not_found, dir + ": no such folder");
  }
  if (!schema::is_archive(dir) && !std::filesystem::exists(dir + "/data/recording.sqlite", error)) {
    return schema::Status(schema::Code::not_found,
                          dir + ": neither an archive nor a recording is there");
  }
  // The files are hashed beside all else; rule evidence asks for the answer too.
  std::shared_future<Context::Verified> verified =
      std::async(std::launch::async, [&dir] { return schema::verify_archive(dir); }).share();
  // Damage is said before anything that was read of a damaged archive.
  const auto refused = [&] {
    return options.refuse_damaged ? refuse_damage(dir, verified.get()) : schema::Status();
  };
  try {
    Stopwatch watch(options.took);
    Context context(dir);
    context.set_verified([verified] { return verified.get(); });
    watch.lap("open");
    if (!options.statements_only) context.look_at_all_records();
    watch.lap("look");
    if (auto status = refused(); !status.ok()) return status;
    watch.lap("verify");
    return audit(context, watch);
  } catch (const AuditError& e) {
    if (auto status = refused(); !status.ok()) return status;
    return explained(e.status());
  }
}

} // namespace hitproof::audit
