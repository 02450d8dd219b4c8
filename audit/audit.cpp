#include "audit/audit.h"

#include "audit/reloads.h"
#include "audit/rule.h"
#include "schema/archive.h"

#include <filesystem>

namespace hitproof::audit {
namespace {

// Damage that makes the records themselves doubtful; an archive that is merely not closed is not
// damaged.
bool is_damage(const schema::ArchiveProblem& problem) {
  return problem.kind != schema::ArchiveProblemKind::not_closed &&
         problem.kind != schema::ArchiveProblemKind::leftover;
}

schema::Status refuse_damage(const std::string& dir) {
  const auto problems = schema::verify_archive(dir);
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

Report audit(const std::string& dir) {
  Context context(dir);
  Report report;
  report.path = dir;
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
    if (rule->optional && r.verdict == Verdict::not_applicable) continue;
    report.verdict = worse(report.verdict, r.verdict);
    report.rules.push_back(std::move(r));
  }
  if (report.verdict == Verdict::not_applicable) report.verdict = Verdict::inconclusive;
  report.reloads = reload_rows(context);
  auto excluded = context.query("SELECT what, reason FROM exclusion ORDER BY id");
  while (excluded.next())
    report.exclusions.push_back(excluded.text(0) + ": " + excluded.text(1));
  require(excluded.status());
  return report;
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
  if (options.refuse_damaged) {
    if (auto status = refuse_damage(dir); !status.ok()) return status;
  }
  try {
    return audit(dir);
  } catch (const AuditError& e) {
    return e.status();
  }
}

} // namespace hitproof::audit
