// What happened when: lanes of the whole recording, and the few records of one witness.
#include "cli/escape.h"
#include "cli/formats/figures.h"

#include <algorithm>
#include <map>

namespace hitproof::cli {
namespace {

using audit::SliceKind;

constexpr double width = 720, left = 132, right = 10, lane_height = 15;

std::string lane_of(const audit::Timeline& timeline, const audit::Slice& s) {
  std::string who = "process " + std::to_string(s.process);
  for (const auto& p : timeline.processes) {
    if (p.process == s.process && !p.role.empty()) who = p.role;
  }
  const char* what = s.kind == SliceKind::operation ? "operations"
                     : s.kind == SliceKind::wait    ? "waits"
                     : s.kind == SliceKind::tails   ? "tail reads"
                     : s.kind == SliceKind::delay   ? "saves"
                     : s.kind == SliceKind::save    ? "saves"
                                                    : "loads";
  if (s.kind == SliceKind::operation) return what;
  return std::string(what) + (s.rank >= 0 ? ", rank " + std::to_string(s.rank) : ", " + who);
}

// Steps would hide everything else, copies and poison lie inside their transfer, and calls that
// order are drawn with their paths.
bool is_drawn(SliceKind kind) {
  return kind != SliceKind::step && kind != SliceKind::copies && kind != SliceKind::poison &&
         kind != SliceKind::ordering;
}

std::string milliseconds(std::int64_t ns) { return short_number(static_cast<double>(ns) / 1e6); }

} // namespace

Picture timeline_figure(const audit::Dossier& dossier) {
  const audit::Timeline& timeline = dossier.timeline;
  std::vector<std::string> lanes;
  std::map<std::string, std::vector<const audit::Slice*>> by_lane;
  std::int64_t end = 1, drawn = 0;
  for (const audit::Slice& s : timeline.slices) {
    if (!is_drawn(s.kind)) continue;
    const std::string lane = lane_of(timeline, s);
    if (by_lane.find(lane) == by_lane.end()) lanes.push_back(lane);
    by_lane[lane].push_back(&s);
    end = std::max(end, s.end_ns);
    ++drawn;
  }
  std::sort(lanes.begin(), lanes.end(), [](const std::string& a, const std::string& b) {
    const bool first = a == "operations", second = b == "operations";
    return first != second ? first : a < b;
  });
  const double top = 26, bottom = top + lane_height * static_cast<double>(lanes.size());
  const auto x = [&](std::int64_t ns) {
    return left + static_cast<double>(ns) / static_cast<double>(end) * (width - left - right);
  };
  std::string thinned;
  for (const auto& t : timeline.thinned) {
    if (!is_drawn(t.kind)) continue;
    thinned += (thinned.empty() ? "the first " : ", ") + std::to_string(t.shown) + " of " +
               std::to_string(t.all) + " (" + audit::slice_kind_name(t.kind) + ")";
  }
  Picture picture(
      width, bottom + 34, "Timeline of the recording",
      std::to_string(drawn) + " slices in " + std::to_string(lanes.size()) +
          " lanes: operations, saves with their injected delays, loads, tail reads and waits." +
          (thinned.empty() ? "" : " Not all are drawn: " + thinned + "."));
  double legend = left;
  for (const auto& [classes, words] : {std::pair{"save", "save"},
                                       {"delay", "injected delay"},
                                       {"load", "load"},
                                       {"tail", "tail read"},
                                       {"wait", "wait"}}) {
    picture.rect(legend, 6, 10, 9, classes);
    picture.text(legend + 14, 14, "small", words);
    legend += 26 + 5.4 * static_cast<double>(std::string(words).size());
  }
  for (const double t : ticks(static_cast<double>(end) / 1e9, 8)) {
    picture.line(x(static_cast<std::int64_t>(t * 1e9)), top - 4,
                 x(static_cast<std::int64_t>(t * 1e9)), bottom, "rule");
    picture.text(x(static_cast<std::int64_t>(t * 1e9)), bottom + 12, "soft small", short_number(t),
                 "middle");
  }
  picture.text(width - right, bottom + 26, "soft small", "seconds after the first record", "end");
  if (!thinned.empty()) picture.text(4, bottom + 26, "soft small", "drawn: " + thinned);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const double y = top + lane_height * static_cast<double>(i);
    picture.text(left - 6, y + 10, "small", lanes[i], "end");
    picture.line(left, y + lane_height - 1, width - right, y + lane_height - 1, "rule");
    for (const audit::Slice* s : by_lane[lanes[i]]) {
      const double from = x(s->begin_ns), to = std::max(x(s->end_ns), from + .8);
      picture.rect(from, y + 2, to - from, lane_height - 5,
                   s->kind == SliceKind::tails ? "tail" : audit::slice_kind_name(s->kind),
                   s->words + (s->transfer ? ", transfer " + std::to_string(s->transfer) : "") +
                       ", at " + milliseconds(s->begin_ns) + " ms for " +
                       milliseconds(s->end_ns - s->begin_ns) + " ms");
    }
  }
  return picture;
}

Picture witness_figure(const audit::Finding& finding) {
  const auto& records = finding.witness;
  if (records.size() < 2) return {}; // one record has no order
  constexpr double wide = 400, margin = 14;
  // Records without a time of their own (exits, totals) stand at the begin.
  double begin = records.front().at_ms, end = begin;
  for (const auto& r : records) {
    if (r.process == 0 && r.seq == 0 && r.at_ms < 0) continue;
    begin = std::min(begin, r.at_ms);
    end = std::max(end, r.at_ms);
  }
  const double span = end > begin ? end - begin : 1;
  const double step = 17, axis = 12;
  Picture picture(wide, axis + 18 + step * static_cast<double>(records.size()),
                  "The records behind " + finding.violation + ", in time",
                  std::to_string(records.size()) + " records over " + short_number(span) +
                      " milliseconds, in the order in which they happened.");
  picture.line(margin, axis, wide - margin, axis, "axis");
  const auto x = [&](double ms) {
    return margin + std::clamp((ms - begin) / span, 0.0, 1.0) * (wide - 2 * margin);
  };
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& r = records[i];
    const double at = x(r.at_ms), y = axis + 16 + step * static_cast<double>(i);
    const bool last = i + 1 == records.size();
    picture.line(at, axis, at, y - 3, "rule");
    picture.circle(at, axis, 2.6, last ? "bad" : "b");
    picture.circle(at, y - 3, 2, last ? "bad" : "b", r.words);
    char moment[48];
    std::snprintf(moment, sizeof moment, "%zu  %s  +%.3f ms", i + 1, r.table.c_str(),
                  r.at_ms - begin);
    const bool flip = at > wide * .5;
    picture.text(at + (flip ? -6 : 6), y, "small", moment, flip ? "end" : "start");
  }
  return picture;
}

} // namespace hitproof::cli
