#include "audit/rule.h"

#include "audit/proof.h"
#include "audit/screen/screen.h"
#include "audit/trace.h"
#include "audit/witness.h"

#include <map>

namespace hitproof::audit {
namespace {

std::optional<std::int64_t> optional_number(const schema::Query& q, int column) {
  if (q.is_null(column)) return std::nullopt;
  return q.integer(column);
}

Violation read_violation(const schema::Query& q) {
  Violation v;
  v.id = q.text(0);
  const std::string effect = q.text(1);
  v.effect = effect == "fail"   ? Verdict::fail
             : effect == "note" ? Verdict::pass
                                : Verdict::inconclusive;
  v.subject.at_ns = optional_number(q, 2);
  v.subject.rank = optional_number(q, 3);
  v.subject.transfer = optional_number(q, 4);
  v.subject.request = optional_number(q, 5);
  v.subject.entry = optional_number(q, 6);
  // Rules about processes name one where the others name a block.
  (q.column_name(7) == "process" ? v.subject.process : v.subject.block) = optional_number(q, 7);
  v.subject.op = optional_number(q, 8);
  v.subject.expected = q.is_null(9) ? "" : q.text(9);
  v.subject.actual = q.is_null(10) ? "" : q.text(10);
  return v;
}

bool earlier(const Subject& a, const Subject& b) {
  if (!a.at_ns) return false;
  return !b.at_ns || *a.at_ns < *b.at_ns;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

std::string number_or(const std::optional<std::int64_t>& n, const char* otherwise) {
  return n ? std::to_string(*n) : otherwise;
}

bool rests_on_absence(const Rule& rule, const std::string& id) {
  for (const Sentence& s : rule.sentences) {
    if (id == s.violation) return s.rests_on == RestsOn::absence;
  }
  return false;
}

bool names_something(const Subject& s) {
  return s.at_ns || s.rank || s.transfer || s.request || s.entry || s.block || s.process || s.op;
}

std::string say(const Context& context, const Rule& rule, const Violation& v) {
  std::string words = v.id;
  for (const Sentence& s : rule.sentences) {
    if (v.id == s.violation) words = s.words;
  }
  const Subject& s = v.subject;
  const std::string entry =
      s.entry ? context.entry_name(s.rank.value_or(0), *s.entry) : std::string("an entry");
  words = replaced(words, "{rank}", number_or(s.rank, "unknown"));
  words = replaced(words, "{transfer}", number_or(s.transfer, "unknown"));
  words = replaced(words, "{request}", number_or(s.request, "unknown"));
  words = replaced(words, "{entry}", entry);
  words = replaced(words, "{block}", number_or(s.block, "unknown"));
  words = replaced(words, "{process}", number_or(s.process, "unknown"));
  words = replaced(words, "{op}", number_or(s.op, "unknown"));
  words = replaced(words, "{expected}", s.expected.empty() ? "unknown" : s.expected);
  return replaced(words, "{actual}", s.actual.empty() ? "unknown" : s.actual);
}

// A kind that rests on absence may have come as fail and count as inconclusive.
std::string effect_condition(const Context& context, const Rule& rule,
                             const std::pair<std::string, Verdict>& kind) {
  if (context.records_are_missing() && rests_on_absence(rule, kind.first)) return "";
  return " AND effect = " +
         name_list({kind.second == Verdict::pass ? "note" : verdict_name(kind.second)});
}

Finding make_finding(Context& context, const Rule& rule, const Violation& v, std::int64_t count) {
  Finding f;
  f.rule = rule.name;
  f.violation = v.id;
  f.effect = v.effect;
  f.count = count;
  f.first = v.subject;
  f.words = say(context, rule, v);
  if (names_something(v.subject))
    add_witness(context, proof_of(rule.name, v.id, rule.witness_tables), f);
  return f;
}

} // namespace

void collect(Context& context, const Rule& rule, const char* sql_name, RuleReport& report,
             const std::function<void(const Violation&)>& each) {
  struct Group {
    Violation first;
    std::int64_t count = 0;
  };
  // One kind may appear as fail and, where its evidence is missing, as inconclusive: two findings.
  std::map<std::pair<std::string, Verdict>, Group> groups;
  {
    const screen::Reduced reduced(context, sql_name, rule_sql(sql_name));
    auto q = context.query(reduced.sql());
    while (q.next()) {
      Violation v = read_violation(q);
      if (v.effect == Verdict::fail && context.records_are_missing() &&
          rests_on_absence(rule, v.id))
        v.effect = Verdict::inconclusive;
      if (each) each(v);
      Group& group = groups[{v.id, v.effect}];
      if (group.count++ == 0 || earlier(v.subject, group.first.subject)) group.first = std::move(v);
    }
    require(q.status());
  }
  for (const auto& [key, group] : groups) {
    Finding f = make_finding(context, rule, group.first, group.count);
    f.counted = traced(context, std::string(sql_name) + ".sql",
                       "SELECT COUNT(*) FROM " + violations_of(sql_name) + " WHERE violation = " +
                           name_list({key.first}) + effect_condition(context, rule, key));
    report.findings.push_back(std::move(f));
  }
}

void add_finding(Context& context, const Rule& rule, RuleReport& report, const Violation& violation,
                 std::int64_t count) {
  report.findings.push_back(make_finding(context, rule, violation, count));
  report.findings.back().counted = {"hitproof audit " + context.dir() + " --despite-damage", "",
                                    ""};
}

void conclude(RuleReport& report) {
  if (report.verdict == Verdict::not_applicable && report.findings.empty()) return;
  if (report.observations == 0) report.missing.push_back("nothing was observed");
  report.verdict = report.missing.empty() ? Verdict::pass : Verdict::inconclusive;
  for (const Finding& f : report.findings)
    report.verdict = worse(report.verdict, f.effect);
  report.bound = rule_of_three(report.observations);
}

bool not_applicable_to_control(Context& context, RuleReport& report) {
  if (!context.is_control() || context.number("SELECT COUNT(*) FROM transfer") > 0) return false;
  report.verdict = Verdict::not_applicable;
  return true;
}

std::span<const Rule* const> all_rules() noexcept {
  static const Rule* const rules[] = {
      &pages_rule, &poison_rule, &tails_rule,   &waits_rule,    &boundary_rule,  &generations_rule,
      &order_rule, &keys_rule,   &control_rule, &evidence_rule, &crosscheck_rule};
  return rules;
}

} // namespace hitproof::audit
