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

// The id that ends a sequence; NULL where the study did not state it.
constexpr const char* end_token =
    "(SELECT CAST(value AS INTEGER) FROM %recording WHERE key = 'end_token')";

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
      {"first batches of reloads without a draft, over the ranks",
       "SELECT COUNT(*) FROM %step_request WHERE transfer <> 0 AND drafts = 0",
       "SELECT COUNT(*) FROM %step_request WHERE transfer <> 0"},
      {"end-of-sequence ids in the output",
       std::string("SELECT CASE WHEN ") + end_token +
           " IS NOT NULL THEN (SELECT COUNT(*) FROM %study_token WHERE token = " + end_token +
           ") END",
       ""},
      {"preemptions", "SELECT COALESCE(SUM(preemptions), 0) FROM %admission", ""},
  };
}

bool templates_are_told(Context& context) {
  return context.has_column("", "study_operation", "template") &&
         context.number("SELECT COUNT(*) FROM study_operation WHERE template = ''") == 0;
}

// A figure of rule generations, "n of m"; "-" where nothing was compared.
void put_compared(Row& row, const RuleReport* rule, const char* equal, const char* compared) {
  const Figure* n = rule ? rule->find_figure(equal) : nullptr;
  const Figure* m = rule ? rule->find_figure(compared) : nullptr;
  if (!n || !m || rule->figure(compared) == 0) return row.words("-");
  row.put(grouped(rule->figure(equal)) + " of " + grouped(rule->figure(compared)),
          joined(n->trace, m->trace));
}

// A pair of generations of one case: how many, and how many of them are equal token by token.
struct Pairs {
  std::string from; // with the operations as a and b
  std::string b;    // where the tokens of b are
  std::string all() const { return "SELECT COUNT(*) " + from; }
  std::string equal() const {
    const auto lacks = [](const std::string& here, const char* x, const std::string& there,
                          const char* y) {
      return std::string(" AND NOT EXISTS (SELECT 1 FROM ") + here + "study_token s LEFT JOIN " +
             there + "study_token t ON t.op = " + y +
             ".op AND t.position = s.position WHERE s.op = " + x +
             ".op AND (t.token IS NULL OR t.token <> s.token))";
    };
    return all() + lacks("", "a", b, "b") + lacks(b, "b", "", "a");
  }
};

// One row: all operations on prompts of one template and length.
void add_case(Context& context, const std::string& name, std::int64_t length, Table& t) {
  const std::string of_case =
      "o.template = " + sql_quoted(name) + " AND o.prompt_tokens = " + std::to_string(length);
  const std::string operations = " FROM study_operation o WHERE " + of_case;
  const std::string tokens =
      " FROM study_operation o JOIN study_token t ON t.op = o.op WHERE " + of_case;
  const std::string reload = " FROM study_operation o JOIN admission a ON a.request = o.request "
                             "WHERE o.kind = 'reload' AND " +
                             of_case;
  Row row;
  row.text(context, "generations.sql", "SELECT o.template" + operations + " LIMIT 1");
  for (const std::string& sql :
       {"SELECT MAX(o.prompt_tokens)" + operations, "SELECT COUNT(*)" + operations,
        "SELECT COUNT(DISTINCT o.op)" + tokens,
        "SELECT COUNT(DISTINCT o.prompt)" + operations + " AND o.kind <> 'reset'",
        "SELECT COUNT(*)" + tokens})
    row.number(context, "generations.sql", sql);
  const std::string generated = " AND EXISTS (SELECT 1 FROM study_token WHERE op = o.op)";
  if (context.has_reference()) {
    const Pairs arms = {"FROM (SELECT o.op, o.prompt, o.kind" + operations + generated +
                            ") a JOIN reference.study_operation b ON b.prompt = a.prompt AND "
                            "b.kind = a.kind",
                        "reference."};
    row.number_of(context, "generations_arms.sql", arms.equal(), arms.all());
  } else {
    row.words("-");
  }
  const Pairs own = {"FROM (SELECT o.op, o.case_index" + operations + generated +
                         " AND o.kind = 'cold') a JOIN study_operation b ON b.case_index = "
                         "a.case_index AND b.kind = 'reload'",
                     ""};
  row.number_of(context, "generations.sql", own.equal(), own.all());
  for (const char* column : {"label_boundary", "computed", "scheduled"})
    row.number(context, "boundary.sql", std::string("SELECT MAX(a.") + column + ")" + reload);
  row.number(context, "boundary.sql",
             "SELECT SUM(s.drafts) FROM study_operation o JOIN step_request s ON s.request = "
             "o.request WHERE s.transfer <> 0 AND o.kind = 'reload' AND " +
                 of_case);
  row.number(context, "generations.sql",
             at(std::string("SELECT CASE WHEN ") + end_token +
                    " IS NOT NULL THEN (SELECT COUNT(*)" + tokens + " AND t.token = " + end_token +
                    ") END",
                ""));
  row.number(context, "boundary.sql",
             "SELECT SUM(a.preemptions) FROM study_operation o JOIN admission a ON a.request = "
             "o.request WHERE " +
                 of_case);
  std::move(row).into(t);
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
  if (!templates_are_told(context))
    t.notes.emplace_back("No record names a prompt's template: templates are not told apart.");
  if (context.fact("end_token").empty())
    t.notes.emplace_back("The recording does not state the end-of-sequence id: its occurrences are "
                         "not counted.");
  if (reloads_without_interval)
    t.notes.emplace_back("The recording does not state the checkpoint interval C.");
  t.notes.emplace_back(one_recording_note);
  return t;
}

Table continuation_cases_table(Context& context) {
  Table t;
  t.id = "continuation_cases";
  t.title = "Continuations by template and prompt length";
  t.columns = {{"template", "", false},
               {"N", "tokens"},
               {"operations", "count"},
               {"generations", "count"},
               {"distinct inputs", "count"},
               {"output tokens", "count"},
               {"equal to the control's", ""},
               {"reload equal to cold", ""},
               {"B", "tokens"},
               {"p", "tokens"},
               {"scheduled", "tokens"},
               {"drafts in its first batches", "tokens"},
               {"end-of-sequence ids", "count"},
               {"preemptions", "count"}};
  if (context.fact("study") != "continuation" || !templates_are_told(context)) return t;
  auto q = context.query("SELECT template, prompt_tokens FROM study_operation GROUP BY template, "
                         "prompt_tokens ORDER BY MIN(op)");
  while (q.next())
    add_case(context, q.text(0), q.integer(1), t);
  require(q.status());
  t.notes = {one_recording_note};
  return t;
}

} // namespace hitproof::audit
