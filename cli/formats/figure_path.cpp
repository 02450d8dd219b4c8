// A path of calls in time, over the threads that made them and the streams that they are about.
#include "audit/shown_paths.h"
#include "cli/formats/figures.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace hitproof::cli {
namespace {

constexpr double width = 400, margin = 16, lane_height = 38, top = 4;

// A thread or a stream of a process; streams below the thread that first uses them.
using Lane = std::tuple<std::int64_t, bool, std::int64_t>;

Lane lane_of(const audit::PathRecord& r) {
  return r.stream ? Lane{r.process, true, *r.stream} : Lane{r.process, false, r.thread};
}

std::string words_of(const Lane& lane, const audit::Timeline& timeline) {
  const auto& [process, on_stream, handle] = lane;
  std::string who = "process " + std::to_string(process);
  for (const audit::TimelineProcess& p : timeline.processes) {
    if (p.process != process || p.role.empty()) continue;
    const bool numbered = p.role == "rank" && p.rank >= 0;
    who = p.role + (numbered ? " " + std::to_string(p.rank) : "") + ", " + who;
  }
  return who + (on_stream ? ", stream " : ", thread ") + std::to_string(handle);
}

// Where to draw moments of `begin..end`: in their time, and apart where they are too near.
std::vector<double> spread(const std::vector<double>& at, double begin, double end, bool& moved) {
  const double room = width - 2 * margin, span = end > begin ? end - begin : 1;
  const double gap = std::min(14.0, room / static_cast<double>(at.size()));
  std::vector<std::size_t> order(at.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return at[a] < at[b]; });
  std::vector<double> x(at.size());
  double before = margin - gap;
  for (const std::size_t i : order)
    before = x[i] = std::max(margin + (at[i] - begin) / span * room, before + gap);
  double after = width - margin + gap;
  for (auto i = order.rbegin(); i != order.rend(); ++i)
    after = x[*i] = std::min(x[*i], after - gap);
  for (std::size_t i = 0; i < at.size(); ++i)
    moved = moved || std::abs(x[i] - (margin + (at[i] - begin) / span * room)) > 1;
  return x;
}

// Below and beside its dot, where there is room behind the one before on its lane.
template <class Level>
void number_dots(Picture& picture, const std::vector<std::size_t>& shown,
                 const std::vector<double>& x, const Level& y) {
  std::map<double, std::size_t> order;
  for (std::size_t i = 0; i < x.size(); ++i)
    order[x[i]] = i;
  std::map<double, double> taken; // of each lane, up to there
  for (const auto& [at, i] : order) {
    const std::string number = std::to_string(shown[i] + 1);
    const double room = 5 * static_cast<double>(number.size());
    const double from = std::min(at + 2, width - room);
    if (const auto before = taken.find(y(i)); before != taken.end() && before->second > from)
      continue;
    picture.text(from, y(i) + 11, "small", number);
    taken[y(i)] = from + room + 1;
  }
}

} // namespace

Picture path_figure(const audit::OrderPath& path, const audit::Timeline& timeline) {
  const std::vector<std::size_t> shown = audit::shown_of(path);
  if (shown.size() < 2) return {}; // one record has no order
  std::vector<Lane> lanes;
  std::vector<double> at;
  for (const std::size_t i : shown) {
    const audit::PathRecord& r = path.records[i];
    at.push_back(r.at_ms);
    if (std::find(lanes.begin(), lanes.end(), lane_of(r)) == lanes.end())
      lanes.push_back(lane_of(r));
  }
  const auto [first, last] = std::minmax_element(at.begin(), at.end());
  const double begin = *first, end = *last;
  bool moved = false;
  const std::vector<double> x = spread(at, begin, end, moved);
  const double bottom = top + lane_height * static_cast<double>(lanes.size());
  Picture picture(width, bottom + 20,
                  std::string(path.proved ? "The path that orders " : "As far as a path orders ") +
                      (path.load ? "load " : "save ") + std::to_string(path.transfer),
                  std::to_string(shown.size()) + " records over " + short_number(end - begin) +
                      " milliseconds on " + std::to_string(lanes.size()) +
                      " threads and streams, joined in the order in which each comes behind the "
                      "one before." +
                      (moved ? " Moments that are too near to be drawn are set apart." : ""));
  std::map<Lane, double> level;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const double y = top + lane_height * static_cast<double>(i) + 24;
    level[lanes[i]] = y;
    picture.text(margin, y - 12, "soft small", words_of(lanes[i], timeline));
    picture.line(margin, y, width - margin, y, "rule");
  }
  const auto y = [&](std::size_t i) { return level[lane_of(path.records[shown[i]])]; };
  // Along the lane until the next one happens, then to its lane.
  for (std::size_t i = 1; i < shown.size(); ++i) {
    const char* const look = shown[i - 1] + 1 == shown[i] ? "b" : "rule";
    picture.line(x[i - 1], y(i - 1), x[i], y(i - 1), look);
    if (y(i) != y(i - 1)) picture.line(x[i], y(i - 1), x[i], y(i), look);
  }
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const bool stops = !path.proved && i + 1 == shown.size();
    picture.circle(x[i], y(i), 3, stops ? "bad" : "b", path.records[shown[i]].words);
  }
  number_dots(picture, shown, x, y);
  picture.text(margin, bottom + 14, "soft small", "+0 ms");
  picture.text(width / 2, bottom + 14, path.proved ? "soft small" : "badtext small",
               !path.proved ? "here the way ends: " + std::to_string(shown.back() + 1)
               : moved      ? "near moments set apart"
                            : "",
               "middle");
  picture.text(width - margin, bottom + 14, "soft small", "+" + short_number(end - begin) + " ms",
               "end");
  return picture;
}

} // namespace hitproof::cli
