#include "audit/study_tables.h"
#include "audit/table_row.h"
#include "audit/trace.h"

namespace hitproof::audit {
namespace {

struct Condition {
  std::string what;
  std::string sql; // %: where the tables of the arm are
};

// One value where all rows agree, else each.
std::string agreed(const std::string& value, const std::string& from) {
  return "SELECT GROUP_CONCAT(value, ', ') FROM (SELECT DISTINCT " + value + " AS value FROM %" +
         from + " ORDER BY value)";
}

// A named fact of the arm's processes.
std::string announced(const std::string& name, const std::string& value = "value") {
  return agreed(value, "meta WHERE name = " + sql_quoted(name));
}

std::string stated(const std::string& key) {
  return "SELECT value FROM %recording WHERE key = " + sql_quoted(key);
}

std::vector<Condition> conditions() {
  return {
      {"device", announced("device")},
      {"driver version", announced("driver.version")},
      {"runtime version", announced("runtime.version")},
      {"probe version", announced("probe.version")},
      {"probes", stated("probes")},
      {"model preset", stated("preset")},
      {"weights, SHA-256 begins with", announced("weights", "SUBSTR(value, 1, 12)")},
      {"seed of the weights", announced("weight_seed")},
      {"ranks", announced("tp")},
      {"sums over ranks", announced("collectives")},
      {"checkpoint interval, tokens", stated("checkpoint")},
      {"tokens in a block", announced("block_tokens")},
      {"blocks of a rank", announced("num_blocks")},
      {"tokens in a step, at most", announced("token_budget")},
      {"sequences in a step, at most", announced("max_sequences")},
      {"connector to the external cache", announced("connector")},
      {"lookup", stated("lookup")},
      {"prompt lengths, tokens", agreed("prompt_tokens", "study_operation")},
      {"tokens of a generation",
       "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM %study_token GROUP BY op)"},
      {"delay of every save, ms", "SELECT MAX(value) / 1000000 FROM %transfer_mark WHERE kind = 1"},
      {"deliberate defect", stated("break")},
  };
}

// The choices that were really used, read back from the kernels.
std::string selected(const std::string& choice) {
  return agreed("selected", "profile WHERE name = " + sql_quoted(choice));
}

std::vector<std::string> choices(Context& context) {
  std::vector<std::string> names;
  auto q = context.query("SELECT DISTINCT name FROM profile ORDER BY name");
  while (q.next())
    names.push_back(q.text(0));
  require(q.status());
  return names;
}

} // namespace

Table conditions_table(Context& context, const Report& report) {
  Table t;
  t.id = "conditions";
  t.title = "Conditions of both arms, as the records state them";
  t.columns = {{"condition", "", false}, {"control", "", false}, {"candidate", "", false}};
  std::vector<Condition> list = conditions();
  for (const std::string& name : choices(context))
    list.push_back({"kernel choice " + name, selected(name)});
  const bool own_is_control = context.is_control();
  for (const Condition& c : list) {
    Row row;
    row.words(c.what);
    if (own_is_control)
      row.text(context, "control.sql", at(c.sql, ""));
    else if (report.has_reference)
      row.text(context, "control_arms.sql", at(c.sql, "reference."));
    else
      row.words("-");
    if (own_is_control)
      row.words("-");
    else
      row.text(context, "control.sql", at(c.sql, ""));
    if (!row.says_nothing()) std::move(row).into(t);
  }
  t.notes = {
      "Facts that no record states are left out: a program says of itself what its probe can "
      "see or is told."};
  return t;
}

} // namespace hitproof::audit
