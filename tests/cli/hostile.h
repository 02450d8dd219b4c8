// A small archive's report full of names that mean harm to one format or another.
#pragma once

#include "audit/dossier.h"

#include <string>
#include <tuple>

namespace hitproof::cli::testing {

// Everything that ends a string, a tag, a cell or a command somewhere.
inline const std::string hostile =
    "<script>alert(1)</script> & 50% of {a}_b $x$ #1 ~^\\ \"quoted\" 'single' `tick` ]]> -->\n"
    "=cmd|x, second line\r\ttab \x01 \x1b[2J \xff\xfe cut \xe2\x82 \xed\xa0\x80 \xef\xbf\xbf "
    "Gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80";

inline audit::Dossier hostile_dossier() {
  audit::Dossier d;
  audit::Report& r = d.report;
  r.path = "out/" + hostile;
  r.arm = r.lookup = r.device = r.preset = hostile;
  r.verdict = audit::Verdict::fail;
  r.exclusions = {hostile};
  for (const char* name : {"pages", "poison", "tails", "waits"}) {
    audit::RuleReport rule;
    rule.name = name;
    rule.proves = hostile;
    rule.observations = 1234567;
    rule.figures = {{"rows", std::int64_t{1234567}, {"pages.sql", "", "SELECT " + hostile + ";"}},
                    {"per_rank", std::vector<std::int64_t>{1, 2}, {}}};
    r.rules.push_back(rule);
  }
  audit::Finding f;
  f.rule = "pages";
  f.violation = "page_not_copied";
  f.count = 3;
  f.words = f.query = hostile;
  f.counted = {"pages.sql", "", "SELECT 3;"};
  for (const double at : {1.5, 2.25}) {
    f.witness.push_back({"copy", 100, 101, 7, at, hostile});
  }
  r.rules[0].verdict = audit::Verdict::fail;
  r.rules[0].findings = {f};
  r.rules[1].verdict = audit::Verdict::inconclusive;
  r.rules[1].missing = {hostile};
  r.rules[2].verdict = audit::Verdict::not_applicable;
  r.rules[3].verdict = audit::Verdict::pass;
  audit::ReloadRow row;
  row.prompt_tokens = 3584;
  row.label = 3584;
  row.computed = 3583;
  r.reloads = {row};
  d.facts["hostile"] = hostile;
  d.tables = {{"sample",
               hostile,
               {{"name", "", false}, {"moved", "bytes"}},
               {{hostile, "1,234,567"}, {"[x] =1+1", "-"}, {"=1+1", "12 of 12"}},
               {{{}, {"pages.sql", "", "SELECT 1234567;"}}, {{}, {}}, {{}, {}}}}};
  d.coverage.ranks = {0, 1};
  d.coverage.entries = {{0, hostile, 0, 0, 1024, 1024, true}, {1, hostile, 3, 1, 512, 512, false}};
  d.coverage.cells = {{0, 0, 4, 0, 0}, {0, 1, 0, 0, 0}, {1, 0, 4, 4, 1}, {1, 1, 0, 0, 0}};
  d.timings.points = {{hostile, 1, 3584, 12.5, 40}};
  d.timings.groups = {{hostile, 3584, 1, 12.5, 12.5, 12.5, {"timings.sql", "", "SELECT 1;"}}};
  d.timeline.processes = {{0, "client", -1}, {100, hostile, 0}};
  d.timeline.slices = {
      {audit::SliceKind::operation, 0, 0, false, 0, 5000000, -1, 0, 1, hostile},
      {audit::SliceKind::save, 100, 7, true, 1000000, 3000000, 0, 1ll << 49, 1, hostile},
      {audit::SliceKind::save, 100, 7, true, 2000000, 4000000, 0, 1ll << 50, 1, hostile},
      {audit::SliceKind::wait, 100, 9, false, 1500000, 3100000, 0, 1ll << 49, 1, hostile}};
  d.timeline.to = {{1, 3}};
  // A save's order over two processes; the waiting call is announced around the synchronisation.
  audit::OrderPath path;
  path.proved = true;
  path.transfer = 1ll << 49;
  for (const auto& [process, begin, end, stream] : {std::tuple{100, 1.0, 1.5, 0},
                                                    {100, 2.0, 2.25, 7},
                                                    {200, 3.0, 4.0, 0},
                                                    {200, 2.5, 4.5, 0},
                                                    {200, 5.0, 5.0, 7}}) {
    audit::PathRecord record;
    record.table = "order_op";
    record.process = process;
    record.thread = process + 1;
    record.seq = static_cast<std::int64_t>(path.records.size()) + 1;
    record.at_ms = begin;
    record.end_ms = end;
    record.words = hostile;
    if (stream != 0) record.stream = stream;
    path.records.push_back(record);
  }
  r.rules[3].paths = {path};
  path.proved = false;
  path.load = true;
  path.records.resize(2);
  r.rules[3].paths.push_back(path);
  d.timeline.processes.push_back({200, "rank", 3});
  audit::add_paths(d.timeline, r);
  d.timeline.thinned = {{audit::SliceKind::step, 10, 20}};
  return d;
}

} // namespace hitproof::cli::testing
