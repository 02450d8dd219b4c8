// Rule crosscheck: a second instrument counted the same bytes as the ledger.
#include "audit/counters.h"
#include "audit/notes.h"
#include "audit/rule.h"
#include "audit/trace.h"

namespace hitproof::audit {
namespace {

const Sentence sentences[] = {
    {"bytes_differ",
     "Process {process}: CUPTI counted {expected} bytes, the ledger has {actual}: a path is not "
     "hooked, or a copy was recorded that was not made."},
    {"still_copying",
     "Process {process} copied on when CUPTI was asked for the last time: CUPTI counted {expected} "
     "bytes until then, the ledger has {actual}."},
    {"session_refused",
     "Process {process}: CUPTI did not answer to the end, so nothing was counted beside the "
     "ledger."},
    {"activity_dropped", "Process {process}: CUPTI lost {actual} activity records."},
    {"session_missing",
     "Process {process} ended without the cross-check's counters: it was killed, or left without "
     "cleaning up.",
     RestsOn::absence},
};

const char* const tables[] = {"coverage", "copy"};
const char* const queries[] = {"crosscheck"};

void judge(Context& context, const Rule& rule, RuleReport& report) {
  const std::int64_t asked = context.number(
      "SELECT COUNT(DISTINCT process) FROM meta WHERE name = 'env:HITPROOF_CUPTI' AND value = '1'");
  const std::string sessions_sql = "SELECT COUNT(DISTINCT process) FROM coverage WHERE name = "
                                   "'cupti:session' AND installed = 1";
  const std::int64_t sessions = context.number(sessions_sql);
  if (asked + sessions == 0) {
    report.verdict = Verdict::not_applicable;
    return;
  }
  collect(context, rule, "crosscheck", report);
  say_notes(context, report, "CUPTI did not count", "name = 'crosscheck.refused'");
  const auto sum = [](const char* column, const std::string& names) {
    return "SELECT SUM(" + std::string(column) +
           ") FROM " HITPROOF_NEWEST_COUNTERS " WHERE name IN (" + names + ")";
  };
  const auto cupti = [&](const char* figure, const std::string& name) {
    return counted(context, "crosscheck.sql", figure, sum("bytes", "'cupti:" + name + "'"));
  };
  const auto ledger = [&](const char* figure, int direction) {
    return counted(context, "crosscheck.sql", figure,
                   "SELECT SUM(bytes) FROM copy WHERE direction = " + std::to_string(direction) +
                       " AND result = 0");
  };
  Figure activities = counted(context, "crosscheck.sql", "activities",
                              sum("calls", "'cupti:h2d', 'cupti:d2h', 'cupti:d2d'"));
  report.observations = std::get<std::int64_t>(activities.value);
  report.observed = activities.trace;
  report.figures = {
      counted(context, "crosscheck.sql", "processes", sessions_sql),
      cupti("cupti_h2d", "h2d"),
      cupti("cupti_d2h", "d2h"),
      cupti("cupti_d2d", "d2d"),
      ledger("ledger_h2d", 1),
      ledger("ledger_d2h", 0),
      ledger("ledger_d2d", 2),
  };
}

} // namespace

const Rule crosscheck_rule = {
    "crosscheck",
    "In every process CUPTI's activity records give the same bytes per direction as the ledger.",
    sentences,
    tables,
    queries,
    judge,
    true};

} // namespace hitproof::audit
