// Rule boundary: B = p. The rows of the boundary matrix are made in reloads.cpp.
#include "audit/rule.h"
#include "audit/trace.h"

#include <set>

namespace hitproof::audit {
namespace {

const Sentence sentences[] = {
    {"label_is_not_p", "Request {request}, rank {rank}: the restored state covers {expected} "
                       "tokens by its label, the "
                       "scheduler resumes at p = {actual}."},
    {"content_is_not_p",
     "Request {request}, rank {rank}, {entry}: the restored state really holds {expected} tokens, "
     "the scheduler resumes at p = {actual}."},
    {"content_is_not_label",
     "Request {request}, rank {rank}, {entry}: the restored state really holds {expected} "
     "tokens, its label says {actual}."},
    {"filed_under_another_boundary",
     "Save {transfer}, rank {rank}, {entry}: a state of {expected} tokens was filed "
     "under the boundary {actual}."},
    {"content_unknown",
     "Transfer {transfer}, rank {rank}, {entry}: no state that the model runner announced has this "
     "content, so the tokens that it holds are unknown."},
    {"content_not_observed",
     "Request {request}, rank {rank}: only the label (B = {expected}) of the restored state is "
     "known; its content was not digested."},
    {"admission_missing",
     "Request {request}: load {transfer} on rank {rank} has no recorded admission or request."},
    {"label_is_not_admitted",
     "Request {request}: the scheduler admitted a state of {actual} tokens, rank {rank} loaded "
     "one of {expected}."},
    {"credited_more_than_found",
     "Request {request}: credited with p = {actual} tokens, found were {expected}."},
    {"credited_more_than_loaded",
     "Request {request}: credited with p = {actual} tokens, rank {rank} loaded pages up to "
     "token {expected}."},
    {"nothing_left_to_compute",
     "Request {request}: p = {actual} leaves no prompt token to compute; at most {expected} "
     "may be credited."},
    {"scheduled_is_not_the_suffix",
     "Request {request}: {actual} tokens scheduled where N - B = {expected}."},
    {"resumes_elsewhere",
     "Request {request}: rank {rank} resumes at position {actual}, the scheduler credited "
     "{expected} tokens."},
    {"step_is_not_as_scheduled",
     "Request {request}: rank {rank} computed {actual} tokens in the first step, {expected} "
     "were scheduled."},
    {"first_step_unknown",
     "Request {request}: no step on rank {rank} is recorded that reads load {transfer} first."},
    {"drafts_in_the_first_step",
     "Request {request}: {actual} draft tokens in the first step after the reload."},
    {"ranks_disagree", "Request {request}: ranks restored states of different boundaries, from "
                       "{expected} to {actual}."},
    {"rank_without_load", "Request {request}: {actual} of {expected} ranks loaded.",
     RestsOn::absence},
    {"answer_exceeds_what_is_held",
     "Request {request}: the lookup answered {actual} tokens, some rank or group holds "
     "{expected}."},
    {"reload_loaded_nothing",
     "Operation {op}: a reload of {expected} tokens for which nothing was loaded: cached, but "
     "not used."},
};

const char* const tables[] = {"transfer", "admission",    "request",        "lookup",
                              "state",    "step_request", "study_operation"};
const char* const queries[] = {"boundary"};

void judge(Context& context, const Rule& rule, RuleReport& report) {
  if (not_applicable_to_control(context, report)) return;
  std::set<std::int64_t> bad;
  collect(context, rule, "boundary", report, [&](const Violation& v) {
    // A wrongly filed state is a matter of the save; whoever loads it is judged on its own.
    if (v.effect == Verdict::fail && v.subject.request && v.id != "filed_under_another_boundary") {
      bad.insert(*v.subject.request);
    }
  });
  std::int64_t aligned = 0;
  const auto requests =
      context.numbers("SELECT DISTINCT request FROM transfer WHERE direction = 1");
  for (const std::int64_t request : requests)
    aligned += bad.count(request) == 0;
  const std::string pages =
      "FROM page_digest d JOIN transfer t ON t.transfer = d.transfer JOIN (SELECT rank, entry "
      "FROM entry WHERE origin = 0 AND kind = 2 GROUP BY rank, entry) e ON e.rank = t.rank AND "
      "e.entry = d.entry WHERE d.place = 0 AND d.moment = t.direction";
  const std::string asked = "SELECT COUNT(DISTINCT request) FROM transfer WHERE direction = 1";
  const std::string unharmed =
      asked + " AND request NOT IN (SELECT request FROM " + violations_of("boundary") + " WHERE " +
      counts_as_fail(context, rule) +
      " AND request IS NOT NULL AND violation <> 'filed_under_another_boundary')";
  report.observations = static_cast<std::int64_t>(requests.size());
  report.observed = traced(context, "boundary.sql", asked);
  report.figures = {
      counted(context, "boundary.sql", "reloads", asked),
      {"aligned", aligned, traced(context, "boundary.sql", unharmed)},
      counted(context, "boundary.sql", "loads",
              "SELECT COUNT(*) FROM transfer WHERE direction = 1"),
      counted(context, "boundary.sql", "states_loaded",
              "SELECT COUNT(*) " + pages + " AND t.direction = 1"),
      counted(context, "boundary.sql", "states_published",
              "SELECT COUNT(*) " + pages + " AND t.direction = 0"),
  };
}

} // namespace

const Rule boundary_rule = {"boundary",
                            "On every rank and in every state entry, the tokens that the restored "
                            "state holds are the tokens that the "
                            "scheduler credits (B = p), the suffix N - B is computed, and every "
                            "saved state holds what its label says.",
                            sentences,
                            tables,
                            queries,
                            judge};

} // namespace hitproof::audit
