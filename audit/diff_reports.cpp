// Verdicts, figures, findings and boundary rows of two reports.
#include "audit/diff_parts.h"
#include "audit/tables.h"

#include <set>

namespace hitproof::audit {
namespace {

std::string value_of(const Figure& figure) {
  if (const auto* n = std::get_if<std::int64_t>(&figure.value)) return grouped(*n);
  std::string out;
  for (const std::int64_t n : std::get<std::vector<std::int64_t>>(figure.value))
    out += (out.empty() ? "" : "/") + grouped(n);
  return out;
}

// Cells of the boundary matrix by reload and column; equal lengths are told apart by their place.
Named boundary_cells(const Report& report) {
  const Table t = boundary_matrix(report);
  Named cells;
  std::map<std::string, int> seen;
  for (const auto& row : t.rows) {
    const int place = ++seen[row[0]];
    std::string reload = "N = " + row[0];
    if (place > 1) reload += " (reload " + std::to_string(place) + ")";
    for (std::size_t i = 1; i < row.size(); ++i)
      cells[reload + ", " + t.columns[i].name] = row[i];
  }
  return cells;
}

} // namespace

void compare_named(const std::string& part, const Named& a, const Named& b, Differences& out) {
  std::set<std::string> names;
  for (const auto& [name, value] : a)
    names.insert(name);
  for (const auto& [name, value] : b)
    names.insert(name);
  for (const std::string& name : names) {
    const auto in_a = a.find(name), in_b = b.find(name);
    const std::string left = in_a == a.end() ? "-" : in_a->second;
    const std::string right = in_b == b.end() ? "-" : in_b->second;
    if ((in_a == a.end()) != (in_b == b.end()) || left != right)
      out.push_back({part, name, left, right});
  }
}

void compare_verdicts(const Report& a, const Report& b, Differences& out) {
  const auto verdicts = [](const Report& report) {
    Named named = {{"overall", verdict_words(report.verdict)}};
    for (const RuleReport& r : report.rules)
      named[r.name] = verdict_words(r.verdict);
    return named;
  };
  compare_named("verdicts", verdicts(a), verdicts(b), out);
}

void compare_figures(const Report& a, const Report& b, Differences& out) {
  const auto figures = [](const Report& report) {
    Named named;
    for (const RuleReport& r : report.rules) {
      for (const Figure& f : r.figures)
        named[r.name + "." + f.name] = value_of(f);
    }
    return named;
  };
  compare_named("figures", figures(a), figures(b), out);
}

void compare_findings(const Report& a, const Report& b, Differences& out) {
  const auto findings = [](const Report& report) {
    Named named;
    for (const RuleReport& r : report.rules) {
      for (const Finding& f : r.findings) {
        const char* effect = f.effect == Verdict::pass ? "note" : verdict_words(f.effect);
        named[r.name + "/" + f.violation + " (" + effect + ")"] =
            grouped(f.count) + (f.count == 1 ? " time" : " times");
      }
      for (const std::string& m : r.missing)
        named[r.name + ": " + m] = "missing";
    }
    return named;
  };
  compare_named("findings", findings(a), findings(b), out);
}

void compare_boundary(const Report& a, const Report& b, Differences& out) {
  compare_named("boundary", boundary_cells(a), boundary_cells(b), out);
}

} // namespace hitproof::audit
