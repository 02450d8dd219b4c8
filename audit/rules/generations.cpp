// Rule generations: token ids, control against candidate and cold against reload.
#include "audit/rule.h"
#include "audit/trace.h"
#include "schema/plan_operations.h"

#include <set>

namespace hitproof::audit {
namespace {

const Sentence sentences[] = {
    {"reload_differs_from_cold",
     "Operation {op} (N = {expected}): the reload's tokens differ from the cold run's, "
     "first at index {actual}."},
    {"reload_logits_differ",
     "Operation {op} (N = {expected}): same tokens as the cold run, but other logits, first at "
     "index {actual}."},
    {"reload_has_another_length",
     "Operation {op}: {actual} tokens, the cold run generated {expected}.", RestsOn::absence},
    {"repeat_differs_from_cold",
     "Operation {op} (N = {expected}): the immediate repeat's answer differs from the cold run's, "
     "first at index {actual}."},
    {"twin_has_another_prompt",
     "Operation {op}: its prompt is not the cold run's, so the two cannot be compared."},
    {"operation_not_finished", "Operation {op} ({expected}) ended as '{actual}'."},
    {"nothing_generated", "Operation {op} ({expected}) generated no token."},
    {"candidate_differs_from_control",
     "Operation {op} (N = {expected}): the candidate's tokens differ from the "
     "control's, first at index {actual}."},
    {"candidate_logits_differ",
     "Operation {op} (N = {expected}): same tokens as the control, but other logits, first "
     "at index {actual}."},
    {"candidate_has_another_length",
     "Operation {op}: {actual} tokens, the control generated {expected}.", RestsOn::absence},
    {"operation_without_control",
     "Operation {op} ({expected}) has no generation in the control arm."},
};

const char* const tables[] = {"study_token", "study_operation", "admission"};
const char* const queries[] = {"generations", "generations_arms"};

// Operations that the registered plan asks for; a run that stopped early must not pass with fewer.
std::int64_t planned_operations(const Context& context) {
  const auto plan = schema::read_plan(context.dir() + "/data/plan.toml");
  if (!plan.ok()) return 0;
  return static_cast<std::int64_t>(
      schema::totals_of(*plan, context.is_control() ? "control" : "candidate").operations);
}

// How many of the pairs that generations_arms.sql makes have tokens on both sides: those compared.
std::string pairs_sql() {
  return tables_of("generations_arms") +
         " SELECT COUNT(*) FROM pair p JOIN length a ON a.op = p.op "
         "JOIN control_length b ON b.op = p.control_op";
}

void judge(Context& context, const Rule& rule, RuleReport& report) {
  std::set<std::int64_t> arms, twins;
  const auto differing = [](std::set<std::int64_t>& into) {
    return [&into](const Violation& v) {
      // Logits are an observation of their own; equal means equal token ids.
      // Repeats are not among the reloads that are counted.
      if (v.effect == Verdict::fail && v.id.find("logits") == std::string::npos &&
          v.id != "repeat_differs_from_cold" && v.subject.op) {
        into.insert(*v.subject.op);
      }
    };
  };
  collect(context, rule, "generations", report, differing(twins));
  const std::string generated = "(SELECT DISTINCT op FROM study_token)";
  const std::string twins_sql =
      "SELECT COUNT(*) FROM study_operation c JOIN study_operation r ON r.case_index = "
      "c.case_index AND r.which = c.which AND c.kind = 'cold' AND r.kind = 'reload' JOIN " +
      generated + " a ON a.op = c.op JOIN " + generated + " b ON b.op = r.op";
  std::string arms_sql = "SELECT 0";
  if (context.has_reference()) {
    collect(context, rule, "generations_arms", report, differing(arms));
    arms_sql = pairs_sql();
  } else if (!context.is_control()) {
    report.missing.push_back(
        "there is no control arm to compare with (data/reference/recording.sqlite)");
  }
  const std::int64_t planned = planned_operations(context);
  const std::int64_t done = context.number("SELECT COUNT(*) FROM study_operation");
  if (done < planned) {
    report.missing.push_back("the plan asks for " + std::to_string(planned) + " operations, " +
                             std::to_string(done) + " are recorded");
  }
  const auto without_differing = [&](const std::string& all, const char* query) {
    return traced(
        context, std::string(query) + ".sql",
        "SELECT (" + all + ") - (SELECT COUNT(DISTINCT op) FROM " + violations_of(query) +
            " WHERE " + counts_as_fail(context, rule) +
            " AND violation NOT LIKE '%logits%' AND violation <> 'repeat_differs_from_cold')");
  };
  const std::int64_t compared = context.number(arms_sql), twin_count = context.number(twins_sql);
  report.observations = compared + twin_count;
  report.observed =
      traced(context, "generations.sql", "SELECT (" + arms_sql + ") + (" + twins_sql + ")");
  report.figures = {
      {"compared", compared, traced(context, "generations_arms.sql", arms_sql)},
      {"equal", compared - static_cast<std::int64_t>(arms.size()),
       context.has_reference() ? without_differing(arms_sql, "generations_arms")
                               : traced(context, "generations_arms.sql", arms_sql)},
      {"reloads_compared", twin_count, traced(context, "generations.sql", twins_sql)},
      {"reloads_equal", twin_count - static_cast<std::int64_t>(twins.size()),
       without_differing(twins_sql, "generations")},
      counted(context, "generations.sql", "generated", "SELECT COUNT(*) FROM " + generated),
      counted(context, "generations.sql", "tokens", "SELECT COUNT(*) FROM study_token"),
  };
}

} // namespace

const Rule generations_rule = {"generations",
                               "Every generated token id, and every token's logits, are equal "
                               "between control and candidate and between cold run "
                               "and reload or repeat.",
                               sentences,
                               tables,
                               queries,
                               judge,
                               false,
                               2};

} // namespace hitproof::audit
