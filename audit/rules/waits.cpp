// Rule waits: a save is over when somebody waited for its completion, not when it was submitted.
#include "audit/rule.h"
#include "audit/trace.h"

#include <map>
#include <set>

namespace hitproof::audit {
namespace {

const Sentence sentences[] = {
    {"save_not_waited_for", "Save {transfer} on rank {rank} was never waited for.",
     RestsOn::absence},
    {"wait_of_another_rank",
     "Save {transfer} belongs to rank {expected}, the wait was done by rank {actual} or outside "
     "the process that owns the pages."},
    {"wait_on_another_event",
     "Rank {rank} announced a wait for save {transfer}, but on an event that does not stand "
     "for its completion.",
     RestsOn::absence},
    {"wait_without_synchronisation",
     "Rank {rank} announced a wait for save {transfer}, but no synchronisation or "
     "successful query of its completion event happened in that time.",
     RestsOn::absence},
    {"waited_before_it_was_recorded",
     "Rank {rank} synchronised with the completion event of save {transfer} before it "
     "had been recorded: such a wait returns at once."},
    {"announcement_not_closed", "Save {transfer} on rank {rank} never named its completion event."},
    {"completion_never_recorded",
     "The completion event of save {transfer} on rank {rank} was never recorded after its "
     "copies had been submitted.",
     RestsOn::absence},
    {"completion_on_another_stream",
     "The completion event of save {transfer} on rank {rank} was recorded on stream "
     "{actual}; the copies are on stream {expected}."},
    {"never_completed",
     "Save {transfer} on rank {rank} has no mark that its copies were complete."},
    {"ended_before_completion",
     "Rank {rank}'s wait for save {transfer} ended at {actual}, before its copies were "
     "complete at {expected}."},
    {"delay_missing",
     "The delay that was to show who waits is missing on save {transfer} of rank {rank}."},
    {"delay_too_short",
     "The delay on save {transfer} of rank {rank} lasted {actual} ns instead of {expected} ns."},
    {"delay_not_covered",
     "Rank {rank}'s wait for save {transfer} ended at {actual}, before the injected delay ended "
     "at {expected}."},
    {"page_reused_before_wait_ended",
     "Block {block} on rank {rank} was written again at {actual}, before the wait for "
     "save {transfer} had ended ({expected})."},
    {"page_given_out_before_wait_ended",
     "Block {block} was given out again at {actual}, before the wait for save "
     "{transfer} on rank {rank} had ended ({expected})."},
};

const char* const tables[] = {"transfer", "transfer_mark", "wait", "order_op", "reuse", "block"};
const char* const queries[] = {"waits"};

// Notes about the page rather than about the wait leave the pair standing.
bool breaks_pair(const std::string& id) {
  return id != "page_reused_before_wait_ended" && id != "page_given_out_before_wait_ended";
}

void judge(Context& context, const Rule& rule, RuleReport& report) {
  if (not_applicable_to_control(context, report)) return;
  std::set<std::int64_t> unpaired;
  collect(context, rule, "waits", report, [&](const Violation& v) {
    if (breaks_pair(v.id) && v.subject.transfer) unpaired.insert(*v.subject.transfer);
  });
  std::map<std::int64_t, std::int64_t> per_rank;
  for (const std::int64_t rank : context.ranks())
    per_rank[rank] = 0;
  std::int64_t saves = 0;
  auto q = context.query(
      "SELECT transfer, rank FROM transfer WHERE direction = 0 GROUP BY transfer, rank");
  while (q.next()) {
    ++saves;
    if (unpaired.count(q.integer(0)) == 0) ++per_rank[q.integer(1)];
  }
  require(q.status());
  std::vector<std::int64_t> list;
  std::int64_t pairs = 0;
  for (const auto& [rank, n] : per_rank) {
    list.push_back(n);
    pairs += n;
  }
  const std::string save =
      "(SELECT transfer, rank FROM transfer WHERE direction = 0 GROUP BY transfer, rank)";
  const std::string broken =
      "(SELECT transfer FROM " + violations_of("waits") +
      " WHERE transfer IS NOT NULL AND violation NOT IN ('page_reused_before_wait_ended', "
      "'page_given_out_before_wait_ended'))";
  const Trace paired = traced(context, "waits.sql",
                              "SELECT COUNT(*) FROM " + save + " WHERE transfer NOT IN " + broken);
  report.observations = pairs;
  report.observed = paired;
  report.figures = {
      {"pairs", pairs, paired},
      {"per_rank", list,
       traced(context, "waits.sql",
              "SELECT COUNT(s.transfer) FROM (SELECT rank FROM entry WHERE origin = 0 UNION "
              "SELECT rank FROM transfer WHERE direction = 0) r LEFT JOIN (SELECT * FROM " +
                  save + " WHERE transfer NOT IN " + broken +
                  ") s ON s.rank = r.rank GROUP BY r.rank ORDER BY r.rank")},
      {"unpaired", saves - pairs,
       traced(context, "waits.sql",
              "SELECT COUNT(*) FROM " + save + " WHERE transfer IN " + broken)},
      {"saves", saves, traced(context, "waits.sql", "SELECT COUNT(*) FROM " + save)},
      counted(context, "waits.sql", "delayed",
              "SELECT COUNT(DISTINCT m.transfer) FROM transfer_mark m JOIN transfer t ON "
              "t.transfer = m.transfer WHERE m.kind = 2 AND t.direction = 0"),
      counted(context, "waits.sql", "least_delay_us",
              "SELECT MIN(b.t_ns - a.t_ns) / 1000 FROM transfer_mark a JOIN transfer_mark b "
              "ON b.transfer = a.transfer AND b.kind = 2 WHERE a.kind = 1"),
      counted(context, "waits.sql", "copying_nothing",
              "SELECT COUNT(*) FROM (SELECT p.transfer FROM transfer_page p JOIN transfer t "
              "ON t.transfer = p.transfer WHERE t.direction = 0 GROUP BY p.transfer "
              "HAVING MIN(p.held) = 1)"),
  };
}

} // namespace

const Rule waits_rule = {
    "waits",
    "Every save is paired with a wait by the rank that owns its pages, on the event that stands "
    "for its actual "
    "completion; the wait ended after copies and injected delay, and no page was reused before.",
    sentences,
    tables,
    queries,
    judge,
    false,
    1};

} // namespace hitproof::audit
