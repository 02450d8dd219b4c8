#include "audit/tables.h"

#include "audit/rule.h"
#include "audit/shown_paths.h"
#include "audit/trace.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace hitproof::audit {
namespace {

std::string listed(const std::vector<std::int64_t>& list) {
  std::string out;
  for (const std::int64_t n : list)
    out += (out.empty() ? "" : " or ") + std::to_string(n);
  return out;
}

std::string content_of(const ReloadRow& row) {
  if (!row.content_observed) return "not observed";
  return listed(row.content);
}

std::string bound_words(const RuleReport& r) {
  if (r.verdict != Verdict::pass) return "";
  char text[64];
  std::snprintf(text, sizeof text, "0 of %s: < %.2g", grouped(r.observations).c_str(), r.bound);
  return text;
}

// The numbers of bound_words, in their order.
Trace bound_trace(const RuleReport& r) {
  if (r.verdict != Verdict::pass || r.observed.statement.empty()) return {};
  Trace t = r.observed;
  t.statement = "SELECT 0, n, CASE WHEN n <= 3 THEN '1' ELSE printf('%.2g', 3.0 / n) END FROM "
                "(SELECT (" +
                one_line(t.statement) + ") AS n);";
  return t;
}

// All violations of a rule but notes, over all of its queries. Where a finding was made by no query
// (a damaged file, another plan), no query gives the sum either.
Trace findings_trace(const Report& report, const RuleReport& r) {
  for (const Finding& f : r.findings) {
    if (f.effect != Verdict::pass && f.counted.statement.empty()) return f.counted;
  }
  std::string sum, source;
  for (const Rule* rule : all_rules()) {
    if (rule->name != r.name) continue;
    for (const char* query : rule->queries) {
      const std::string name = query;
      if (name.ends_with("_moved") || (name.ends_with("_arms") && !report.has_reference)) continue;
      sum += (sum.empty() ? "SELECT" : " +") + std::string(" (SELECT COUNT(*) FROM ") +
             violations_of(query) + " WHERE effect <> 'note')";
      source += (source.empty() ? "" : ", ") + name + ".sql";
    }
  }
  std::string before = r.observed.before;
  if (sum.find("reference.") != std::string::npos && before.rfind("ATTACH", 0) != 0) {
    const std::string control = report.path + "/data/reference/recording.sqlite";
    before = "ATTACH " + name_list({control}) + " AS reference; " + before;
  }
  return {source, before, sum + ";"};
}

struct Check {
  const char* rule;
  const char* what;
  std::vector<const char*> figures; // joined by " of " where there are two
};

} // namespace

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number < 0 ? -number : number);
  for (std::size_t at = digits.size(); at > 3; at -= 3)
    digits.insert(at - 3, 1, ',');
  return (number < 0 ? "-" : "") + digits;
}

std::string per_rank(const std::vector<std::int64_t>& list) {
  if (list.empty()) return "-";
  if (std::all_of(list.begin(), list.end(), [&](std::int64_t n) { return n == list[0]; }))
    return grouped(list[0]);
  std::string out;
  for (const std::int64_t n : list)
    out += (out.empty() ? "" : "/") + grouped(n);
  return out;
}

std::string difference_of(const ReloadRow& row) {
  if (!row.compared) return "not compared";
  return row.first_difference < 0 ? "-" : std::to_string(row.first_difference);
}

Table boundary_matrix(const Report& report) {
  Table t;
  t.id = "boundary_matrix";
  t.title = "Boundary matrix (" +
            (report.lookup.empty() ? std::string("lookup unknown") : report.lookup + " lookup") +
            "): what each reload restored and where it resumed";
  t.columns = {{"N", "tokens"},
               {"B label", "tokens"},
               {"B content", "tokens"},
               {"p", "tokens"},
               {"scheduled", "tokens"},
               {"drafts", "tokens"},
               {"chunks", "count"},
               {"H2D rows/rank", "count"},
               {"H2D bytes/rank", "bytes"},
               {"first difference", "index"},
               {"B = p", "", false}};
  const char* const figures[] = {"prompt_tokens", "label",           "content", "computed",
                                 "scheduled",     "drafts",          "chunks",  "rows",
                                 "bytes",         "first_difference"};
  for (const ReloadRow& row : report.reloads) {
    t.rows.push_back({std::to_string(row.prompt_tokens),
                      row.label < 0 ? "ranks disagree" : std::to_string(row.label), content_of(row),
                      std::to_string(row.computed), std::to_string(row.scheduled),
                      std::to_string(row.drafts), std::to_string(row.chunks), per_rank(row.rows),
                      per_rank(row.bytes), difference_of(row), row.aligned ? "yes" : "NO"});
    std::vector<Trace> traces(t.columns.size());
    for (std::size_t i = 0; i < std::size(figures); ++i) {
      const auto at = row.traces.find(figures[i]);
      const bool any = t.rows.back()[i].find_first_of("0123456789") != std::string::npos;
      if (any && at != row.traces.end()) traces[i] = at->second;
    }
    t.traces.push_back(std::move(traces));
  }
  return t;
}

Table regression_table(const Report& report) {
  Table t;
  t.id = "regression";
  t.title = "Instrumented regression: totals recomputed from the records";
  t.columns = {{"check", "", false},
               {"figure", ""},
               {"verdict", "", false},
               {"none seen, 95 % bound", "", false}};
  const Check checks[] = {
      {"generations", "candidate/control generations equal", {"equal", "compared"}},
      {"generations", "cold/reload generations equal", {"reloads_equal", "reloads_compared"}},
      {"pages", "D2H page moves compared", {"d2h_rows"}},
      {"pages", "H2D page moves compared", {"h2d_rows"}},
      {"pages", "page moves that differ", {"mismatches"}},
      {"pages", "entries covered per rank and direction", {"entries_per_rank"}},
      {"pages", "transfer groups", {"groups"}},
      {"pages", "D2H volume, bytes", {"d2h_bytes"}},
      {"pages", "H2D volume, bytes", {"h2d_bytes"}},
      {"poison", "load destinations poisoned first", {"destinations", "announced"}},
      {"poison", "bytes of poison left", {"residue"}},
      {"tails", "nonzero tail observations, H2D", {"nonzero", "observations"}},
      {"waits", "save and wait pairs", {"pairs", "saves"}},
      {"waits", "saves that were delayed", {"delayed"}},
      {"waits", "shortest delay, microseconds", {"least_delay_us"}},
      {"boundary", "reloads with B = p", {"aligned", "reloads"}},
      {"order", "first reads behind their load", {"first_reads"}},
      {"order", "save copies behind their producer", {"saves_behind_producer"}},
      {"keys", "keys with all content inputs", {"keys"}},
      {"control", "steps compared with the control's", {"steps_compared"}},
      {"evidence", "records dropped", {"dropped"}},
  };
  for (const Check& c : checks) {
    const RuleReport* r = report.rule(c.rule);
    if (!r || r->verdict == Verdict::not_applicable) continue;
    std::string figure;
    Trace trace;
    for (const char* name : c.figures) {
      figure += (figure.empty() ? "" : " of ") + grouped(r->figure(name));
      if (const Figure* f = r->find_figure(name)) trace = joined(trace, f->trace);
    }
    t.rows.push_back({c.what, figure, verdict_words(r->verdict), bound_words(*r)});
    t.traces.push_back({{}, trace, {}, bound_trace(*r)});
  }
  return t;
}

Table rule_table(const Report& report) {
  Table t;
  t.id = "rules";
  t.title = "Rules";
  t.columns = {{"rule", "", false},
               {"verdict", "", false},
               {"observations", "count"},
               {"findings", "count"},
               {"why", "", false}};
  for (const RuleReport& r : report.rules) {
    std::int64_t findings = 0;
    for (const Finding& f : r.findings)
      findings += f.effect == Verdict::pass ? 0 : f.count;
    std::string why;
    for (const std::string& m : r.missing)
      why += (why.empty() ? "" : "; ") + m;
    if (why.empty() && r.verdict != Verdict::pass && !r.findings.empty())
      why = r.findings.front().violation;
    // A rule without a subject counted nothing.
    const bool none = r.verdict == Verdict::not_applicable;
    t.rows.push_back({r.name, verdict_words(r.verdict), none ? "-" : grouped(r.observations),
                      none ? "-" : grouped(findings), why});
    t.traces.push_back(
        {{}, {}, none ? Trace{} : r.observed, none ? Trace{} : findings_trace(report, r), {}});
  }
  return t;
}

Table finding_table(const Report& report) {
  Table t;
  t.id = "findings";
  t.title = "Findings";
  t.columns = {{"rule", "", false},
               {"violation", "", false},
               {"effect", "", false},
               {"count", "count"},
               {"first", "", false}};
  for (const RuleReport& r : report.rules) {
    for (const Finding& f : r.findings) {
      t.rows.push_back({f.rule, f.violation,
                        f.effect == Verdict::pass ? "note" : verdict_words(f.effect),
                        grouped(f.count), f.words});
      t.traces.push_back({{}, {}, {}, f.counted, {}});
    }
  }
  return t;
}

std::vector<Table> report_tables(const Report& report) {
  std::vector<Table> tables = {boundary_matrix(report), regression_table(report),
                               rule_table(report), finding_table(report)};
  if (Table paths = path_table(report); !paths.rows.empty()) tables.push_back(std::move(paths));
  return tables;
}

} // namespace hitproof::audit
