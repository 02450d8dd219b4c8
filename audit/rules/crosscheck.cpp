// Rule crosscheck: a second instrument counted the same bytes as the ledger.
#include "audit/rule.h"

namespace hitproof::audit {
namespace {

const Sentence sentences[] = {
    {"bytes_differ",
     "Process {process}: CUPTI counted {expected} bytes, the ledger has {actual}: a path is not "
     "hooked, or a copy was recorded that was not made."},
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

std::int64_t counted(Context& context, const char* name) {
  return context.number(
      std::string("SELECT SUM(b) FROM (SELECT MAX(bytes) AS b FROM coverage WHERE name = 'cupti:") +
      name + "' GROUP BY process)");
}

void judge(Context& context, const Rule& rule, RuleReport& report) {
  const std::int64_t asked = context.number(
      "SELECT COUNT(DISTINCT process) FROM meta WHERE name = 'env:HITPROOF_CUPTI' AND value = '1'");
  const std::int64_t sessions = context.number("SELECT COUNT(DISTINCT process) FROM coverage WHERE "
                                               "name = 'cupti:session' AND installed = 1");
  if (asked + sessions == 0) {
    report.verdict = Verdict::not_applicable;
    return;
  }
  collect(context, rule, "crosscheck", report);
  report.observations = context.number(
      "SELECT SUM(c) FROM (SELECT MAX(calls) AS c FROM coverage WHERE name IN ('cupti:h2d', "
      "'cupti:d2h', 'cupti:d2d') GROUP BY process, name)");
  report.figures = {
      {"processes", sessions},
      {"cupti_h2d", counted(context, "h2d")},
      {"cupti_d2h", counted(context, "d2h")},
      {"cupti_d2d", counted(context, "d2d")},
      {"ledger_h2d",
       context.number("SELECT SUM(bytes) FROM copy WHERE direction = 1 AND result = 0")},
      {"ledger_d2h",
       context.number("SELECT SUM(bytes) FROM copy WHERE direction = 0 AND result = 0")},
      {"ledger_d2d",
       context.number("SELECT SUM(bytes) FROM copy WHERE direction = 2 AND result = 0")},
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
