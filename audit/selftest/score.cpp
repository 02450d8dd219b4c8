// What the trials add up to.
#include "audit/rule.h"
#include "audit/selftest/selftest.h"

#include <algorithm>

namespace hitproof::audit::selftest {
namespace {

void count(const Trial& trial, RuleScore& into) {
  if (trial.outcome == Outcome::skipped) {
    ++into.skipped;
    return;
  }
  const bool right = trial.outcome == Outcome::answered;
  if (trial.mutation->harmless()) {
    ++into.harmless;
    ++(right ? into.silent : into.disturbed);
  } else {
    ++into.mutations;
    ++(right ? into.caught : into.missed);
  }
}

Verdict verdict_from(const RuleScore& s) {
  if (s.missed + s.disturbed > 0) return Verdict::fail;
  return s.mutations + s.harmless > 0 ? Verdict::pass : Verdict::inconclusive;
}

std::string of(std::int64_t part, std::int64_t all) {
  return std::to_string(part) + " of " + std::to_string(all);
}

std::string sentence_from(const RuleScore& s) {
  if (s.mutations + s.harmless == 0)
    return "INCONCLUSIVE: nothing was tried; " + std::to_string(s.skipped) +
           " changes do not apply to what is there.";
  std::string words = verdict_from(s) == Verdict::pass ? "PASS: " : "FAIL: ";
  words += of(s.caught, s.mutations) + " mutations caught by the right rule, " +
           of(s.silent, s.harmless) + " harmless changes passed in silence";
  if (s.skipped > 0) words += "; " + std::to_string(s.skipped) + " do not apply here";
  return words + ".";
}

RuleScore sum(const std::vector<Score>& scores) {
  RuleScore all;
  for (const Score& score : scores)
    for (const Trial& trial : score.trials)
      count(trial, all);
  return all;
}

} // namespace

std::vector<RuleScore> Score::by_rule() const {
  std::vector<RuleScore> rows;
  for (const Rule* rule : all_rules())
    rows.push_back({.rule = rule->name});
  rows.push_back({.rule = "all"});
  for (const Trial& trial : trials)
    for (RuleScore& row : rows)
      if (row.rule == trial.mutation->rule) count(trial, row);
  std::erase_if(rows, [](const RuleScore& r) { return r.mutations + r.harmless + r.skipped == 0; });
  return rows;
}

RuleScore Score::total() const {
  RuleScore all{.rule = "total"};
  for (const Trial& trial : trials)
    count(trial, all);
  return all;
}

Verdict Score::verdict() const { return verdict_from(total()); }
std::string Score::sentence() const { return sentence_from(total()); }

Table Score::table() const {
  Table t;
  t.id = "selftest";
  t.title = archive.empty() ? "Selftest on the built-in study" : "Selftest on " + archive;
  t.columns = {{"rule", "", false},    {"mutations", "count"}, {"caught", "count"},
               {"missed", "count"},    {"harmless", "count"},  {"silent", "count"},
               {"disturbed", "count"}, {"skipped", "count"}};
  std::vector<RuleScore> rows = by_rule();
  rows.push_back(total());
  for (const RuleScore& r : rows) {
    t.rows.push_back({r.rule});
    for (const std::int64_t n :
         {r.mutations, r.caught, r.missed, r.harmless, r.silent, r.disturbed, r.skipped})
      t.rows.back().push_back(std::to_string(n));
  }
  return t;
}

Verdict verdict_of(const std::vector<Score>& scores) { return verdict_from(sum(scores)); }
std::string sentence_of(const std::vector<Score>& scores) { return sentence_from(sum(scores)); }

} // namespace hitproof::audit::selftest
