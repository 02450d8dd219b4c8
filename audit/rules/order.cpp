// Rule order: reads behind loads, save copies behind their producers, one transfer on a page at a
// time.
#include "audit/order/paths.h"
#include "audit/rule.h"
#include "audit/trace.h"

#include <algorithm>
#include <set>

namespace hitproof::audit {
namespace {

const Sentence sentences[] = {
    {"read_before_load_waited_for",
     "Request {request}, rank {rank}: the step that reads load {transfer} began at "
     "{actual} without a proved wait for it before ({expected}).",
     RestsOn::absence},
    {"read_before_load_complete",
     "Request {request}, rank {rank}: the step that reads load {transfer} began at "
     "{actual}, its copies were complete at {expected}."},
    {"load_never_completed",
     "Load {transfer} on rank {rank} has no mark that its copies were complete."},
    {"first_read_not_announced",
     "Load {transfer} on rank {rank}: no step is recorded that reads it."},
    {"save_before_producer",
     "Save {transfer} on rank {rank}: nothing orders its copies behind the work that wrote the "
     "pages.",
     RestsOn::absence},
    {"producer_wait_is_stale",
     "Save {transfer} on rank {rank}: its copies wait for an event recorded at {actual}, "
     "before the step that wrote the pages began at {expected}."},
    {"producer_step_unknown",
     "Save {transfer} on rank {rank}: no step of its request is recorded before it."},
    {"any_order_behind_a_stream_wait",
     "Save {transfer} on rank {rank}: its copies may read their source in any order, "
     "and only a stream wait, which does not bind such reads, comes before."},
    {"second_transfer_on_a_busy_page",
     "Transfer {transfer} took {entry} on rank {rank}, block {block}, at {actual}, "
     "while another transfer was on the page until {expected}."},
    {"block_taken_while_busy",
     "Block {block} was freed or given out at {actual}, while transfer {transfer} on rank "
     "{rank} was on it until {expected}."},
    {"path_not_proved",
     "Transfer {transfer} on rank {rank}: no path of recorded calls leads from {expected} to "
     "{actual}."},
};

const char* const tables[] = {"transfer", "transfer_mark", "step_request", "wait",
                              "order_op", "copy",          "block"};
const char* const queries[] = {"order"};

// How far a path leads is part of the proof that none leads further.
void cite_path(const std::vector<OrderPath>& paths, Finding& finding) {
  const auto same = [](const WitnessRecord& a, const WitnessRecord& b) {
    return a.process == b.process && a.thread == b.thread && a.seq == b.seq;
  };
  for (const OrderPath& path : paths) {
    if (path.proved || path.transfer != finding.first.transfer) continue;
    for (const WitnessRecord& r : path.records) {
      const auto cited = [&](const WitnessRecord& w) { return same(w, r); };
      if (std::none_of(finding.witness.begin(), finding.witness.end(), cited))
        finding.witness.push_back(r);
    }
  }
  std::stable_sort(
      finding.witness.begin(), finding.witness.end(),
      [](const WitnessRecord& a, const WitnessRecord& b) { return a.at_ms < b.at_ms; });
}

// What the query has no words for: order that goes by any number of calls.
void judge_paths(Context& context, const Rule& rule, const std::set<std::int64_t>& decided,
                 RuleReport& report) {
  order::Conclusions found = order::conclusions_of(context, decided);
  const Trace again = {"hitproof audit " + context.dir() + " --json", "", ""};
  report.figures.push_back({"loads_proved_by_path", found.loads_proved, again});
  report.figures.push_back({"saves_proved_by_path", found.saves_proved, again});
  report.paths = std::move(found.paths);
  report.without_path = std::move(found.without_path);
  if (found.unproved.empty()) return;
  add_finding(context, rule, report,
              {"path_not_proved", Verdict::inconclusive, found.unproved.front()},
              static_cast<std::int64_t>(found.unproved.size()));
  cite_path(report.paths, report.findings.back());
}

void judge(Context& context, const Rule& rule, RuleReport& report) {
  if (not_applicable_to_control(context, report)) return;
  std::set<std::int64_t> decided;
  collect(context, rule, "order", report, [&](const Violation& v) {
    if (v.subject.transfer) decided.insert(*v.subject.transfer);
  });
  const std::string reads_sql =
      "SELECT COUNT(*) FROM (SELECT q.transfer FROM step_request q JOIN transfer t ON t.transfer = "
      "q.transfer AND t.rank = q.rank WHERE t.direction = 1 GROUP BY q.transfer, q.rank)";
  const std::string saves_sql =
      "SELECT COUNT(*) FROM (SELECT c.transfer FROM copy c JOIN transfer t ON t.transfer = "
      "c.transfer WHERE t.direction = 0 AND c.result = 0 GROUP BY c.transfer)";
  report.figures = {
      counted(context, "order.sql", "first_reads", reads_sql),
      counted(context, "order.sql", "saves_behind_producer", saves_sql),
      counted(context, "order.sql", "operations", "SELECT COUNT(*) FROM order_op"),
      counted(context, "order.sql", "completion_marks",
              "SELECT COUNT(*) FROM transfer_mark WHERE kind = 3"),
  };
  judge_paths(context, rule, decided, report);
  const std::int64_t reads = report.figure("first_reads");
  const std::int64_t saves = report.figure("saves_behind_producer");
  if (reads == 0) report.missing.push_back("no step is recorded that reads a load");
  if (saves == 0) report.missing.push_back("no save copied anything");
  report.observations = reads + saves;
  report.observed =
      traced(context, "order.sql", "SELECT (" + reads_sql + ") + (" + saves_sql + ")");
}

} // namespace

const Rule order_rule = {"order",
                         "No step reads a loaded page before the load was waited for, no save "
                         "copies before its producer was waited for, "
                         "and no page is taken while a transfer is on it.",
                         sentences,
                         tables,
                         queries,
                         judge,
                         false,
                         3};

} // namespace hitproof::audit
