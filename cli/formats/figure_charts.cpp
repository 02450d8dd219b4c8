// Boundary figure and times to the first token.
#include "audit/device.h"
#include "cli/formats/figures.h"

#include <algorithm>
#include <map>
#include <set>

namespace hitproof::cli {
namespace {

constexpr double width = 400, left = 44, right = 12;

struct Axis {
  double most;
  double x(double value) const { return left + value / most * (width - left - right); }
};

std::string tokens(std::int64_t n) { return std::to_string(n); }

// The same condition of two archives ("1: OFF recomputed", "2: OFF recomputed") has one colour.
std::string color_of(const std::vector<std::string>& conditions, const std::string& condition) {
  const auto bare = [](const std::string& name) {
    const std::size_t number = name.find_first_not_of("0123456789");
    return number != 0 && name.compare(number, 2, ": ") == 0 ? name.substr(number + 2) : name;
  };
  std::vector<std::string> seen;
  for (const std::string& c : conditions) {
    if (std::find(seen.begin(), seen.end(), bare(c)) == seen.end()) seen.push_back(bare(c));
  }
  const auto at = std::find(seen.begin(), seen.end(), bare(condition)) - seen.begin();
  return "c" + std::to_string(at % 4);
}

// A point of one repetition: a dot of the first, an open square of the second, a cross of the
// third, and so on.
void mark(Picture& picture, std::size_t run, double x, double y, const std::string& color,
          const std::string& tip) {
  if (run % 3 == 0) return picture.circle(x, y, 2.6, color + " point", tip);
  if (run % 3 == 1) return picture.square(x, y, 2.3, color + " open", tip);
  picture.line(x - 2.3, y - 2.3, x + 2.3, y + 2.3, color);
  picture.line(x - 2.3, y + 2.3, x + 2.3, y - 2.3, color);
}

} // namespace

Picture boundary_figure(const audit::Dossier& dossier) {
  const auto& reloads = dossier.report.reloads;
  constexpr double top = 34, step = 24;
  constexpr std::size_t most_rows = 64;
  const std::size_t rows = std::min(reloads.size(), most_rows);
  std::int64_t longest = 1, apart = 0;
  for (const auto& r : reloads) {
    longest = std::max({longest, r.prompt_tokens, r.label, r.computed});
    apart += !r.aligned;
  }
  const double bottom = top + static_cast<double>(rows) * step;
  const Axis axis{static_cast<double>(longest) * 1.04};
  Picture picture(
      width, bottom + 34, "Boundary of each reload: B and p by prompt length",
      std::to_string(reloads.size()) + " reloads; in " + std::to_string(apart) +
          " of them the tokens that the restored state stands for (B) and the tokens that the "
          "scheduler credits (p) do not fit together.");
  picture.circle(left + 4, 11, 3.4, "b");
  picture.text(left + 12, 14.5, "", "B, tokens in the state");
  picture.square(left + 134, 11, 4.6, "p");
  picture.text(left + 143, 14.5, "", "p, tokens credited");
  picture.text(left - 6, 26, "soft small", "N", "end");
  for (const double t : ticks(axis.most, 6)) {
    picture.line(axis.x(t), top - 6, axis.x(t), bottom, "rule");
    picture.text(axis.x(t), bottom + 12, "soft small", short_number(t), "middle");
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const auto& r = reloads[i];
    const double y = top + (static_cast<double>(i) + .5) * step;
    picture.text(left - 6, y + 3.5, "", tokens(r.prompt_tokens), "end");
    picture.line(axis.x(0), y, axis.x(static_cast<double>(r.prompt_tokens)), y, "axis");
    if (r.label >= 0) {
      if (!r.aligned) {
        picture.line(axis.x(static_cast<double>(r.label)), y - 9,
                     axis.x(static_cast<double>(r.label)), y + 9, "apart");
      }
      picture.circle(axis.x(static_cast<double>(r.label)), y, 3.4, "b");
    }
    picture.square(axis.x(static_cast<double>(r.computed)), y, 4.6, "p");
    const bool far_right = axis.x(static_cast<double>(r.computed)) > width - 130;
    const std::string words =
        r.aligned ? "B = p = " + tokens(r.computed)
                  : (r.label < 0 ? std::string("ranks disagree") : "B = " + tokens(r.label)) +
                        ", p = " + tokens(r.computed);
    picture.text(axis.x(static_cast<double>(r.computed)) + (far_right ? -9 : 9), y - 3.5,
                 r.aligned ? "small" : "small badtext", words, far_right ? "end" : "start");
  }
  picture.text(width - right, bottom + 27, "soft small", "tokens", "end");
  if (rows < reloads.size()) {
    picture.text(left, bottom + 27, "soft small",
                 "the first " + std::to_string(rows) + " of " + std::to_string(reloads.size()) +
                     " reloads; the table has all");
  }
  return picture;
}

Picture timings_figure(const audit::Dossier& dossier) {
  const auto& timings = dossier.timings;
  std::vector<std::string> conditions;
  std::set<std::int64_t> lengths;
  double longest = 0;
  for (const auto& g : timings.groups) {
    if (std::find(conditions.begin(), conditions.end(), g.condition) == conditions.end())
      conditions.push_back(g.condition);
    lengths.insert(g.prompt_tokens);
    longest = std::max(longest, g.most);
  }
  const double line = 13, block = line * static_cast<double>(conditions.size()) + 10;
  const double legend = 24 + line * static_cast<double>(conditions.size());
  const double top = legend + (timings.runs.empty() ? 0 : line);
  const double bottom = top + block * static_cast<double>(lengths.size());
  const Axis axis{longest > 0 ? longest * 1.05 : 1};
  const std::string& device = dossier.report.device;
  const std::string on =
      "device " + (device.empty() ? std::string("unknown") : device) +
      (audit::is_simulated(device) ? " (simulated: shows order of events, no performance)" : "");
  const std::string repeated = timings.runs.empty() ? ""
                                                    : "; medians and bars over " +
                                                          std::to_string(timings.runs.size()) +
                                                          " declared repetitions";
  Picture picture(width, bottom + 32, "Time to first token by prompt length, " + on,
                  "Every point one generation, the thick stroke the median, the bar from the least "
                  "to the greatest" +
                      repeated + "." +
                      std::string(timings.delayed ? " Saves were delayed on purpose." : ""));
  picture.text(4, 11, "small strong", "TTFT, " + on);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const double y = 23 + line * static_cast<double>(i);
    picture.circle(left + 4, y - 3, 3, color_of(conditions, conditions[i]));
    picture.text(left + 12, y, "small", conditions[i]);
  }
  double key = left + 4;
  for (std::size_t i = 0; i < timings.runs.size(); ++i) {
    const std::string words = std::to_string(i + 1) + " = " + timings.runs[i];
    mark(picture, i, key, legend - 4, "c0", "");
    picture.text(key + 8, legend - 1, "small", words);
    key += 20 + 4.6 * static_cast<double>(words.size());
  }
  for (const double t : ticks(axis.most, 6)) {
    picture.line(axis.x(t), top, axis.x(t), bottom, "rule");
    picture.text(axis.x(t), bottom + 12, "soft small", short_number(t), "middle");
  }
  const auto row_of = [&](std::int64_t length, const std::string& condition) {
    const auto at = std::find(conditions.begin(), conditions.end(), condition) - conditions.begin();
    const auto nth = std::distance(lengths.begin(), lengths.find(length));
    return top + block * static_cast<double>(nth) + 10 + line * static_cast<double>(at);
  };
  const auto color = [&](const std::string& condition) { return color_of(conditions, condition); };
  for (const std::int64_t n : lengths) {
    picture.text(left - 6, row_of(n, conditions[0]) + 3.5, "", tokens(n), "end");
    picture.line(4, row_of(n, conditions[0]) - 10, width - right, row_of(n, conditions[0]) - 10,
                 "rule");
  }
  for (const auto& g : timings.groups) {
    const double y = row_of(g.prompt_tokens, g.condition);
    const std::string bar = color(g.condition) + " range";
    picture.line(axis.x(g.least), y, axis.x(g.most), y, bar);
    for (const double end : {g.least, g.most})
      picture.line(axis.x(end), y - 3, axis.x(end), y + 3, bar);
    picture.line(axis.x(g.median), y - 5, axis.x(g.median), y + 5, color(g.condition) + " median");
  }
  const auto middle = (static_cast<double>(timings.runs.size()) - 1) / 2;
  for (const auto& p : timings.points) {
    if (lengths.count(p.prompt_tokens) == 0) continue;
    // Repetitions lie a little apart, so that equal times of two can be told.
    const double off = timings.runs.empty() ? 0 : (static_cast<double>(p.run) - middle) * 3;
    mark(picture, p.run, axis.x(p.ttft_ms), row_of(p.prompt_tokens, p.condition) + off,
         color(p.condition),
         "operation " + std::to_string(p.op) + ": " + short_number(p.ttft_ms) + " ms");
  }
  picture.text(4, bottom + 27, "soft small",
               timings.left_out > 0 ? "medians of all generations; " +
                                          std::to_string(timings.left_out) + " points are not drawn"
               : timings.delayed ? "saves were delayed on purpose in this recording"
                                 : "N at the left, in tokens");
  picture.text(width - right, bottom + 27, "soft small", "ms", "end");
  return picture;
}

} // namespace hitproof::cli
