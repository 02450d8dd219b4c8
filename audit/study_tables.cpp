#include "audit/study_tables.h"

#include "audit/rule.h"
#include "audit/tables.h"
#include "audit/trace.h"

namespace hitproof::audit {
namespace {

struct Row {
  std::vector<std::string> cells;
  std::vector<Trace> traces;

  void words(std::string text) {
    cells.push_back(std::move(text));
    traces.emplace_back();
  }
  // Runs the statement; nothing selected is "-" and has no trace.
  void number(Context& context, const char* source, const std::string& sql) {
    auto q = context.query(sql);
    const bool any = q.next() && !q.is_null(0);
    require(q.status());
    cells.push_back(any ? grouped(q.integer(0)) : "-");
    traces.push_back(any ? traced(context, source, sql) : Trace{});
  }
  void into(Table& t) && {
    t.rows.push_back(std::move(cells));
    t.traces.push_back(std::move(traces));
  }
};

// First index at which any generation differs from the control's, by token id.
std::string first_difference() {
  return "SELECT MIN(CAST(actual AS INTEGER)) FROM " + violations_of("generations_arms") +
         " WHERE violation = 'candidate_differs_from_control'";
}

} // namespace

Table numerical_control_table(Context& context, const Report& report) {
  Table t;
  t.id = "numerical_control";
  t.title = "Numerical control: are the arms comparable, and do they agree";
  t.columns = {{"schedule", "", false},        {"steps compared", "count"},
               {"steps that differ", "count"}, {"kernel profile", "", false},
               {"choices read back", "count"}, {"choices not in force", "count"},
               {"generations equal", ""},      {"first difference", "index"}};
  const RuleReport* control = report.rule("control");
  const RuleReport* generations = report.rule("generations");
  if (!control || !generations || !report.has_reference) return t;
  const std::string arms = violations_of("control_arms"), own = violations_of("control");
  const std::string unmatched = "SELECT COUNT(*) FROM " + arms +
                                " WHERE violation IN ('step_differs_from_control', "
                                "'other_number_of_steps')";
  const std::string not_in_force =
      "SELECT (SELECT COUNT(*) FROM " + own +
      " WHERE violation IN ('profile_not_in_force', 'profile_changed', 'profile_incomplete')) + "
      "(SELECT COUNT(*) FROM " +
      arms + " WHERE violation = 'profile_differs_from_control')";
  Row row;
  row.words(context.number(unmatched) > 0 ? "unmatched" : "matched");
  row.number(context, "control_arms.sql", control->find_figure("steps_compared")->trace.statement);
  row.number(context, "control_arms.sql", unmatched);
  row.words(control->figure("choices") == 0    ? "not recorded"
            : context.number(not_in_force) > 0 ? "not in force"
                                               : "pinned, in force");
  row.number(context, "control.sql", control->find_figure("choices")->trace.statement);
  row.number(context, "control.sql", not_in_force);
  const Figure *equal = generations->find_figure("equal"),
               *compared = generations->find_figure("compared");
  row.cells.push_back(grouped(generations->figure("equal")) + " of " +
                      grouped(generations->figure("compared")));
  row.traces.push_back(joined(equal->trace, compared->trace));
  row.number(context, "generations_arms.sql", first_difference());
  std::move(row).into(t);
  return t;
}

Table continuation_table(Context& context, const Report& report) {
  Table t;
  t.id = "continuations";
  t.title = "Continuations: what was generated and compared";
  t.columns = {{"check", "", false}, {"control", "count"}, {"candidate", "count"}};
  struct Count {
    const char* what;
    const char* sql; // %: where the tables of the arm are
  };
  const Count counts[] = {
      {"cases", "SELECT COUNT(DISTINCT case_index) FROM %study_operation"},
      {"operations", "SELECT COUNT(*) FROM %study_operation"},
      {"generations", "SELECT COUNT(DISTINCT op) FROM %study_token"},
      {"distinct inputs",
       "SELECT COUNT(DISTINCT prompt) FROM %study_operation WHERE kind <> 'reset'"},
      {"output tokens", "SELECT COUNT(*) FROM %study_token"},
      {"distinct output ids", "SELECT COUNT(DISTINCT token) FROM %study_token"},
      {"requests served by an external reload",
       "SELECT COUNT(DISTINCT request) FROM %admission WHERE source >= 2"},
      {"draft tokens in first batches", "SELECT COALESCE(SUM(drafts), 0) FROM %admission"},
      {"preemptions", "SELECT COALESCE(SUM(preemptions), 0) FROM %admission"},
  };
  const bool own_is_control = context.is_control();
  for (const Count& c : counts) {
    const auto in = [&](const char* where) {
      std::string sql = c.sql;
      return sql.replace(sql.find('%'), 1, where);
    };
    Row row;
    row.words(c.what);
    if (own_is_control)
      row.number(context, "generations.sql", in(""));
    else if (report.has_reference)
      row.number(context, "generations_arms.sql", in("reference."));
    else
      row.words("-");
    if (own_is_control)
      row.words("-");
    else
      row.number(context, "generations.sql", in(""));
    std::move(row).into(t);
  }
  return t;
}

} // namespace hitproof::audit
