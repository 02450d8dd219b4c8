// Token ids, plan, versions and environment of two recordings.
#include "audit/diff_parts.h"

#include <fstream>

namespace hitproof::audit {
namespace {

// Operations are the same where prompt and kind are, and where there are several, in their order.
std::string placed(const std::string& schema) {
  return "(SELECT op, prompt, kind, which, prompt_tokens, ROW_NUMBER() OVER (PARTITION BY prompt, "
         "kind, which ORDER BY op) AS place FROM " +
         schema + ".study_operation WHERE kind <> 'reset')";
}

std::string name_of(const schema::Query& q) {
  return "N = " + q.text(0) + ", " + q.text(1) + " of " + q.text(2);
}

void compare_arms(Context& context, const std::string& a, const std::string& b,
                  const std::string& arm, Differences& out) {
  const std::string both = placed(a) + " x JOIN " + placed(b) +
                           " y ON y.prompt = x.prompt AND y.kind = x.kind AND y.which = x.which "
                           "AND y.place = x.place";
  auto q = context.query(
      "SELECT x.prompt_tokens, x.kind, x.which, MIN(s.position), s.token, t.token FROM " + both +
      " JOIN " + a + ".study_token s ON s.op = x.op JOIN " + b +
      ".study_token t ON t.op = y.op AND t.position = s.position WHERE s.token <> t.token GROUP BY "
      "x.op ORDER BY x.op");
  while (q.next()) {
    out.push_back({"tokens", arm + name_of(q) + ", first difference at index " + q.text(3),
                   q.text(4), q.text(5)});
  }
  require(q.status());
  auto n = context.query("SELECT x.prompt_tokens, x.kind, x.which, (SELECT COUNT(*) FROM " + a +
                         ".study_token s WHERE s.op = x.op) AS m, (SELECT COUNT(*) FROM " + b +
                         ".study_token t WHERE t.op = y.op) AS k FROM " + both +
                         " WHERE m <> k ORDER BY x.op");
  while (n.next())
    out.push_back({"tokens", arm + name_of(n) + ", tokens generated", n.text(3), n.text(4)});
  require(n.status());
  const auto alone = [&](const std::string& here, const std::string& there, bool in_a) {
    auto r = context.query("SELECT x.prompt_tokens, x.kind, x.which FROM " + placed(here) +
                           " x LEFT JOIN " + placed(there) +
                           " y ON y.prompt = x.prompt AND y.kind = x.kind AND y.which = x.which "
                           "AND y.place = x.place WHERE y.op IS NULL ORDER BY x.op");
    while (r.next())
      out.push_back(
          {"tokens", arm + name_of(r), in_a ? "generated" : "-", in_a ? "-" : "generated"});
    require(r.status());
  };
  alone(a, b, true);
  alone(b, a, false);
}

// "study.tokens" to "64"; repeated sections are numbered. The plan's text is canonical, one line a
// value.
Named plan_of(const Context& context) {
  Named named;
  std::ifstream in(context.dir() + "/data/plan.toml");
  std::string section;
  std::map<std::string, int> seen;
  int choices = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      section =
          line.substr(line.find_first_not_of('['), line.find(']') - line.find_first_not_of('['));
      if (const int n = ++seen[section]; n > 1) section += " " + std::to_string(n);
      continue;
    }
    const std::size_t equals = line.find(" = ");
    if (equals == std::string::npos)
      named[section + " line " + std::to_string(++choices)] = line;
    else
      named[(section.empty() ? "" : section + ".") + line.substr(0, equals)] =
          line.substr(equals + 3);
  }
  return named;
}

Named read_named(Context& context, const std::string& sql) {
  Named named;
  auto q = context.query(sql);
  while (q.next())
    named[q.text(0)] = q.text(1);
  require(q.status());
  return named;
}

} // namespace

void compare_tokens(Context& a, Context& b, Differences& out) {
  const std::string other = b.dir() + "/data/recording.sqlite";
  require(a.recording().attach(other, "other"));
  compare_arms(a, "main", "other", "", out);
  if (!a.has_reference() || !b.has_reference()) return;
  require(a.recording().attach(b.reference_path(), "other_reference"));
  compare_arms(a, "reference", "other_reference", "control arm: ", out);
}

void compare_plans(Context& a, Context& b, Differences& out) {
  compare_named("plan", plan_of(a), plan_of(b), out);
}

void compare_versions(Context& a, Context& b, Differences& out) {
  // What differs between any two runs, and what other parts compare.
  const std::string facts =
      "SELECT key, value FROM recording WHERE key NOT LIKE '%\\_ns' ESCAPE '\\' AND key NOT IN "
      "('records', 'dropped', 'gaps', 'damaged_slots', 'damaged_journals', 'live_writers', "
      "'queue_depth_max')";
  compare_named("versions", read_named(a, facts), read_named(b, facts), out);
}

void compare_environment(Context& a, Context& b, Differences& out) {
  const std::string facts =
      "SELECT CASE p.role WHEN '' THEN 'process' ELSE p.role END || ': ' || m.name, "
      "GROUP_CONCAT(DISTINCT m.value) FROM (SELECT process, name, value FROM meta WHERE name <> "
      "'env:HITPROOF_DIR' ORDER BY name, "
      "value) m JOIN (SELECT process, MAX(role) AS role FROM process GROUP BY process) p ON "
      "p.process = m.process GROUP BY 1";
  compare_named("environment", read_named(a, facts), read_named(b, facts), out);
}

} // namespace hitproof::audit
