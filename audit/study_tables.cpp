#include "audit/study_tables.h"

#include "audit/rule.h"
#include "audit/table_row.h"
#include "audit/tables.h"
#include "audit/trace.h"

namespace hitproof::audit {
namespace {

// First index at which any generation differs from the control's, by token id.
std::string first_difference() {
  return "SELECT MIN(CAST(actual AS INTEGER)) FROM " + violations_of("generations_arms") +
         " WHERE violation = 'candidate_differs_from_control'";
}

// The interval of checkpoints; NULL where the study did not state it. %: as in Count.
constexpr const char* checkpoint =
    "(SELECT CAST(value AS INTEGER) FROM %recording WHERE key = 'checkpoint')";

// Requests that reload, and those of them for which `holds` is true of admission a and request r.
std::string reloading(const std::string& holds) {
  return "(SELECT COUNT(DISTINCT a.request) FROM %admission a JOIN %request r ON r.request = "
         "a.request WHERE a.source >= 2" +
         (holds.empty() ? "" : " AND " + holds) + ")";
}

struct Count {
  const char* what;
  std::string sql; // %: where the tables of the arm are
  std::string of;  // "n of m" where it is not empty
};

std::vector<Count> counts_of_an_arm() {
  const std::string c = checkpoint;
  return {
      {"cases", "SELECT COUNT(DISTINCT case_index) FROM %study_operation", ""},
      {"operations", "SELECT COUNT(*) FROM %study_operation", ""},
      {"generations", "SELECT COUNT(DISTINCT op) FROM %study_token", ""},
      {"distinct inputs",
       "SELECT COUNT(DISTINCT prompt) FROM %study_operation WHERE kind <> 'reset'", ""},
      {"output tokens", "SELECT COUNT(*) FROM %study_token", ""},
      {"distinct output ids", "SELECT COUNT(DISTINCT token) FROM %study_token", ""},
      {"requests served by an external reload",
       "SELECT COUNT(DISTINCT request) FROM %admission WHERE source >= 2", ""},
      {"reloads with B = C floor((N-1)/C)",
       "SELECT CASE WHEN " + c + " IS NOT NULL THEN " +
           reloading("a.label_boundary = " + c + " * ((r.prompt_tokens - 1) / " + c + ")") + " END",
       "SELECT " + reloading("")},
      {"reloads with p = B", "SELECT " + reloading("a.computed = a.label_boundary"),
       "SELECT " + reloading("")},
      {"reloads that schedule N - B first",
       "SELECT " + reloading("a.scheduled = r.prompt_tokens - a.label_boundary"),
       "SELECT " + reloading("")},
      {"draft tokens in first batches", "SELECT COALESCE(SUM(drafts), 0) FROM %admission", ""},
      {"preemptions", "SELECT COALESCE(SUM(preemptions), 0) FROM %admission", ""},
  };
}

// A figure of rule generations, "n of m"; "-" where nothing was compared.
void put_compared(Row& row, const RuleReport* rule, const char* equal, const char* compared) {
  const Figure* n = rule ? rule->find_figure(equal) : nullptr;
  const Figure* m = rule ? rule->find_figure(compared) : nullptr;
  if (!n || !m || rule->figure(compared) == 0) return row.words("-");
  row.put(grouped(rule->figure(equal)) + " of " + grouped(rule->figure(compared)),
          joined(n->trace, m->trace));
}

} // namespace

const char* const one_recording_note =
    "One recording. Repetitions are recordings of their own: hitproof export --repetitions.";

const char* const one_rung_note =
    "One recording. Other schedules and profiles are recordings of their own: hitproof export "
    "--together.";

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
  row.put(grouped(generations->figure("equal")) + " of " + grouped(generations->figure("compared")),
          joined(equal->trace, compared->trace));
  row.number(context, "generations_arms.sql", first_difference());
  std::move(row).into(t);
  t.notes = {one_rung_note};
  return t;
}

Table continuation_table(Context& context, const Report& report) {
  Table t;
  t.id = "continuations";
  t.title = "Continuations: what was generated and compared";
  t.columns = {{"check", "", false}, {"control", "count"}, {"candidate", "count"}};
  const bool own_is_control = context.is_control();
  const auto put = [&](Row& row, const Count& c, const char* source, const std::string& where) {
    if (c.of.empty()) return row.number(context, source, at(c.sql, where));
    row.number_of(context, source, at(c.sql, where), at(c.of, where));
  };
  bool reloads_without_interval = false;
  for (const Count& c : counts_of_an_arm()) {
    Row row;
    row.words(c.what);
    if (own_is_control)
      put(row, c, "generations.sql", "");
    else if (report.has_reference)
      put(row, c, "generations_arms.sql", "reference.");
    else
      row.words("-");
    if (own_is_control)
      row.words("-");
    else
      put(row, c, "generations.sql", "");
    std::move(row).into(t);
  }
  if (!own_is_control) {
    const RuleReport* rule = report.rule("generations");
    Row arms, reloads;
    arms.words("generations equal to the control's");
    arms.words("-");
    put_compared(arms, rule, "equal", "compared");
    std::move(arms).into(t);
    reloads.words("reloads equal to their cold generation");
    reloads.words("-");
    put_compared(reloads, rule, "reloads_equal", "reloads_compared");
    std::move(reloads).into(t);
    reloads_without_interval = context.fact("checkpoint").empty();
  }
  t.notes = {
      "No record names a prompt's template or the end-of-sequence id: templates are not told "
      "apart, and occurrences of that id are not counted."};
  if (reloads_without_interval)
    t.notes.emplace_back("The recording does not state the checkpoint interval C.");
  t.notes.emplace_back(one_recording_note);
  return t;
}

} // namespace hitproof::audit
