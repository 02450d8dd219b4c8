#include "cli/report_output.h"

#include "audit/tables.h"

#include <cstdio>
#include <filesystem>

namespace hitproof::cli {
namespace {

std::string moment(double at_ms) {
  char text[48];
  std::snprintf(text, sizeof text, "%+.3f ms", at_ms);
  return text;
}

std::string title_of(const audit::Finding& f) {
  const char* effect = f.effect == audit::Verdict::fail           ? "FAIL"
                       : f.effect == audit::Verdict::inconclusive ? "inconclusive"
                                                                  : "note";
  return std::string(effect) + "  " + f.rule + "/" + f.violation + "  (" + audit::grouped(f.count) +
         (f.count == 1 ? " time)" : " times)");
}

void print_finding(Output& out, const audit::Finding& f, const std::string& database) {
  out.line("");
  out.line(title_of(f));
  out.line("  " + f.words);
  for (const audit::WitnessRecord& w : f.witness) {
    out.detail(moment(w.at_ms) + "  " + w.words + "  [" + w.table + " " +
               std::to_string(w.process) + "." + std::to_string(w.thread) + "." +
               std::to_string(w.seq) + "]");
  }
  if (!f.query.empty()) out.detail("sqlite3 " + database + " \"" + f.query + "\"");
}

std::string next_command(const audit::Report& report) {
  switch (report.verdict) {
  case audit::Verdict::pass:
    return "hitproof export " + report.path + " --format latex --out tables";
  case audit::Verdict::fail:
    return "hitproof audit " + report.path + " --json";
  default:
    return "hitproof inspect " + report.path;
  }
}

} // namespace

void print_report(Output& out, const audit::Report& report) {
  out.line("Archive " + report.path + ": arm " + (report.arm.empty() ? "unknown" : report.arm) +
           (report.device.empty() ? "" : ", device " + report.device) +
           (report.preset.empty() ? "" : ", preset " + report.preset) +
           (report.has_reference ? ", with its control arm" : ", no control arm inside"));
  if (!report.reloads.empty()) out.table(audit::boundary_matrix(report));
  out.table(audit::regression_table(report));
  out.table(audit::rule_table(report));
  bool any = false;
  const std::string database = report.path + "/data/recording.sqlite";
  for (const audit::RuleReport& r : report.rules) {
    for (const audit::Finding& f : r.findings) {
      if (!any) out.heading("Findings, each with the records that prove its first case");
      any = true;
      print_finding(out, f, database);
    }
  }
  for (const audit::RuleReport& r : report.rules) {
    for (const std::string& m : r.missing)
      out.line("missing for " + r.name + ": " + m);
  }
  out.verdict(report.sentence(), next_command(report));
}

int exit_code_of(audit::Verdict verdict) {
  switch (verdict) {
  case audit::Verdict::pass:
    return exit_pass;
  case audit::Verdict::fail:
    return exit_finding;
  default:
    return exit_inconclusive;
  }
}

int complain_about_archive(const schema::Status& status, const std::string& dir) {
  switch (status.code()) {
  case schema::Code::corruption:
    complain(status.message(),
             "hitproof verify " + dir + " lists every file that is not what was written");
    return exit_damaged;
  case schema::Code::not_found: {
    // A folder that is an archive but has lost its recording is damaged; anything else is a wrong
    // path.
    std::error_code error;
    const bool archive = std::filesystem::exists(dir + "/bagit.txt", error);
    complain(status.message(),
             archive
                 ? "hitproof verify " + dir + " lists what is missing"
                 : "name the folder that a study or run wrote (it contains data/recording.sqlite)");
    return archive ? exit_damaged : exit_usage;
  }
  case schema::Code::newer_format:
    complain(status.message(),
             "use the version of hitproof that wrote the archive, or a newer one");
    return exit_usage;
  case schema::Code::incomplete:
    complain(status.message(), "run it again; there is nothing to audit");
    return exit_inconclusive;
  case schema::Code::no_space:
    complain(status.message(), "free room there, or name another folder with SQLITE_TMPDIR");
    return exit_usage;
  case schema::Code::refused:
    complain(status.message(), "see that you may read " + dir +
                                   " and all files in it, and that memory and open files suffice "
                                   "(ulimit -a), then run the same command again");
    return exit_usage;
  default:
    complain(status.message(),
             "see that " + dir + " and its files can be read, then run the same command again");
    return exit_usage;
  }
}

} // namespace hitproof::cli
