#include "audit/report.h"

namespace hitproof::audit {

const Figure* RuleReport::find_figure(const std::string& figure_name) const {
  for (const Figure& f : figures) {
    if (f.name == figure_name) return &f;
  }
  return nullptr;
}

std::int64_t RuleReport::figure(const std::string& figure_name) const {
  const Figure* f = find_figure(figure_name);
  const auto* n = f ? std::get_if<std::int64_t>(&f->value) : nullptr;
  return n ? *n : 0;
}

const RuleReport* Report::rule(const std::string& name) const {
  for (const RuleReport& r : rules) {
    if (r.name == name) return &r;
  }
  return nullptr;
}

namespace {

std::string names_of(const std::vector<RuleReport>& rules, Verdict verdict) {
  std::string names;
  for (const RuleReport& r : rules) {
    if (r.verdict == verdict) names += (names.empty() ? "" : ", ") + r.name;
  }
  return names;
}

} // namespace

std::string Report::sentence() const {
  switch (verdict) {
  case Verdict::pass: {
    const RuleReport* b = rule("boundary");
    if (b && b->verdict == Verdict::pass) {
      return "PASS: every cache hit resumed from the right state, as far as " +
             std::to_string(b->observations) + " reloads can show.";
    }
    return "PASS: every rule that applies to this arm holds.";
  }
  case Verdict::fail:
    return "FAIL: refuted by rule " + names_of(rules, Verdict::fail) + ".";
  case Verdict::inconclusive:
    return "INCONCLUSIVE: nothing wrong was seen, but not enough was seen either (" +
           names_of(rules, Verdict::inconclusive) + ").";
  case Verdict::not_applicable:
    break;
  }
  return "INCONCLUSIVE: no rule applies to this recording.";
}

} // namespace hitproof::audit
