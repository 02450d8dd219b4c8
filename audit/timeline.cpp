#include "audit/timeline.h"

#include "audit/shown_paths.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace hitproof::audit {
namespace {

// Columns: process, track, begin, end, rank, transfer, request, words.
struct Kind {
  SliceKind kind;
  bool on_stream;
  const char* sql;
};

const Kind kinds[] = {
    {SliceKind::operation, false,
     "SELECT 0, 0, begin_ns AS begin, end_ns, -1, 0, request, kind || CASE which WHEN '' THEN '' "
     "ELSE ' of ' || which END || CASE kind WHEN 'reset' THEN '' ELSE ', N = ' || prompt_tokens "
     "END "
     "FROM study_operation WHERE end_ns > 0"},
    {SliceKind::step, false,
     "SELECT process, thread, t_ns AS begin, end_ns, rank, 0, 0, 'step ' || step || ', ' || tokens "
     "|| ' tokens' FROM step WHERE end_ns >= t_ns"},
    {SliceKind::save, true,
     "SELECT t.process, t.stream, t.t_ns AS begin, MAX(m.t_ns), t.rank, t.transfer, t.request, "
     "'save of tokens ' || t.token_begin || ' to ' || t.token_end || ', ' || t.pages || ' pages' "
     "FROM transfer t JOIN transfer_mark m ON m.transfer = t.transfer AND m.kind = 3 WHERE "
     "t.direction = 0 GROUP BY t.transfer"},
    {SliceKind::load, true,
     "SELECT t.process, t.stream, t.t_ns AS begin, MAX(m.t_ns), t.rank, t.transfer, t.request, "
     "'load of tokens ' || t.token_begin || ' to ' || t.token_end || ', ' || t.pages || ' pages' "
     "FROM transfer t JOIN transfer_mark m ON m.transfer = t.transfer AND m.kind = 3 WHERE "
     "t.direction = 1 GROUP BY t.transfer"},
    {SliceKind::delay, true,
     "SELECT t.process, t.stream, a.t_ns AS begin, MIN(b.t_ns), t.rank, t.transfer, t.request, "
     "'delay of ' || (a.value / 1000000) || ' ms' FROM transfer_mark a JOIN transfer_mark b ON "
     "b.transfer = a.transfer AND b.kind = 2 JOIN transfer t ON t.transfer = a.transfer WHERE "
     "a.kind = 1 GROUP BY a.transfer"},
    {SliceKind::copies, false,
     "SELECT c.process, c.thread, MIN(c.t_ns) AS begin, MAX(c.end_ns), MAX(t.rank), c.transfer, "
     "MAX(t.request), COUNT(*) || ' copies, ' || SUM(c.bytes) || ' bytes' FROM copy c JOIN "
     "transfer "
     "t ON t.transfer = c.transfer GROUP BY c.transfer, c.process, c.thread"},
    {SliceKind::poison, false,
     "SELECT t.process, t.stream, MIN(p.poison_ns) AS begin, MAX(p.poison_ns), MAX(p.rank), "
     "p.transfer, MAX(t.request), COUNT(*) || ' pages poisoned' FROM page_poison p JOIN transfer t "
     "ON t.transfer = p.transfer WHERE p.poison_ns > 0 GROUP BY p.transfer"},
    {SliceKind::tails, false,
     "SELECT process, thread, MIN(t_ns) AS begin, MAX(t_ns), rank, transfer, MAX(request), "
     "COUNT(*) "
     "|| ' tails read, ' || SUM(nonzero > 0) || ' not zero' FROM tail_read GROUP BY process, "
     "thread, rank, transfer, request"},
    {SliceKind::wait, false,
     "SELECT process, thread, t_ns AS begin, end_ns, rank, transfer, request, CASE kind WHEN 0 "
     "THEN "
     "'wait for save' ELSE 'wait for load' END FROM wait"},
};

void read_kind(Context& context, const Kind& kind, std::int64_t each, Timeline& timeline) {
  auto q = context.query(std::string(kind.sql) + " ORDER BY begin LIMIT " + std::to_string(each));
  std::int64_t shown = 0;
  while (q.next()) {
    ++shown;
    Slice s;
    s.kind = kind.kind;
    s.process = q.integer(0);
    s.track = q.integer(1);
    s.on_stream = kind.on_stream || kind.kind == SliceKind::poison;
    s.begin_ns = q.integer(2) - context.first_ns();
    s.end_ns = q.integer(3) - context.first_ns();
    s.rank = q.integer(4);
    s.transfer = q.integer(5);
    s.request = q.integer(6);
    s.words = q.text(7);
    timeline.slices.push_back(std::move(s));
  }
  require(q.status());
  if (shown < each) return;
  const std::int64_t all = context.number(std::string("SELECT COUNT(*) FROM (") + kind.sql + ")");
  if (all > shown) timeline.thinned.push_back({kind.kind, shown, all});
}

} // namespace

const char* slice_kind_name(SliceKind kind) {
  static const char* const names[] = {"operation", "step",   "save",      "load", "delay",
                                      "copies",    "poison", "tail read", "wait", "ordering call"};
  return names[static_cast<int>(kind)];
}

Timeline read_timeline(Context& context, std::int64_t each) {
  Timeline timeline;
  timeline.processes.push_back({0, "client", -1});
  auto q = context.query("SELECT p.process, MAX(p.role), MAX(COALESCE(e.rank, p.rank)) FROM "
                         "process p LEFT JOIN (SELECT process, MIN(rank) AS rank FROM entry WHERE "
                         "origin = 0 GROUP BY process) e ON e.process = p.process GROUP BY "
                         "p.process ORDER BY MIN(p.t_ns)");
  while (q.next())
    timeline.processes.push_back({q.integer(0), q.text(1), q.integer(2)});
  require(q.status());
  for (const Kind& kind : kinds)
    read_kind(context, kind, each, timeline);
  std::map<std::int64_t, std::size_t> saves;
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& s = timeline.slices[i];
    if (s.kind == SliceKind::save || s.kind == SliceKind::load) saves[s.transfer] = i;
    if (s.kind != SliceKind::wait) continue;
    if (const auto at = saves.find(s.transfer); at != saves.end())
      timeline.to.emplace_back(at->second, i);
  }
  return timeline;
}

void add_paths(Timeline& timeline, const Report& report) {
  const auto ns = [](double ms) { return static_cast<std::int64_t>(std::llround(ms * 1e6)); };
  for (const RuleReport& rule : report.rules) {
    for (const OrderPath& path : rule.paths) {
      if (!path.proved) continue;
      const std::vector<std::size_t> shown = shown_of(path);
      TimelinePath drawn;
      drawn.load = path.load;
      drawn.transfer = path.transfer;
      drawn.rank = path.rank;
      drawn.shown = shown.size();
      drawn.records = path.records.size();
      for (std::size_t i = 0; i < shown.size(); ++i) {
        const PathRecord& r = path.records[shown[i]];
        const std::size_t here = timeline.slices.size();
        if (i > 0 && shown[i - 1] + 1 == shown[i]) drawn.joins.emplace_back(here - 1, here);
        Slice s;
        s.kind = SliceKind::ordering;
        s.process = r.process;
        s.track = r.thread;
        s.begin_ns = ns(r.at_ms);
        s.end_ns = std::max(ns(r.end_ms), s.begin_ns + 1); // no arrow meets what takes no time
        s.rank = path.rank;
        s.transfer = path.transfer;
        s.request = path.request;
        s.words = r.words;
        timeline.slices.push_back(std::move(s));
      }
      timeline.paths.push_back(std::move(drawn));
    }
  }
}

} // namespace hitproof::audit
