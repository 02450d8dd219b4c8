// Which entries moved on which rank: two maps, saves and loads, one column an entry.
#include "cli/formats/figures.h"

#include <algorithm>
#include <map>

namespace hitproof::cli {
namespace {

constexpr double width = 400, left = 44, right = 8, row = 15;

struct Map {
  const char* name;
  std::int64_t audit::CoverageCell::*count;
};

// Three shades: a third, two thirds, all of the most that any entry has.
std::string shade(const audit::CoverageCell& cell, bool transferred, std::int64_t count,
                  std::int64_t most) {
  if (cell.failing > 0) return "bad";
  if (!transferred) return "blank";
  if (count == 0) return "hole";
  return count * 3 <= most ? "m1" : count * 3 <= most * 2 ? "m2" : "m3";
}

void key(Picture& picture, double y, double x, const char* classes, const char* words) {
  picture.rect(x, y - 7, 8, 8, classes);
  picture.text(x + 11, y, "small", words);
}

} // namespace

Picture coverage_figure(const audit::Dossier& dossier) {
  const audit::Coverage& c = dossier.coverage;
  const Map maps[] = {{"saved", &audit::CoverageCell::saved},
                      {"loaded", &audit::CoverageCell::loaded}};
  std::map<std::int64_t, std::size_t> column;
  for (std::size_t i = 0; i < c.entries.size(); ++i)
    column[c.entries[i].entry] = i;
  std::int64_t holes = 0, failing = 0, expected = 0;
  for (const auto& cell : c.cells) {
    if (!c.entries[column[cell.entry]].transferred) continue;
    expected += 2;
    holes += (cell.saved == 0) + (cell.loaded == 0);
    failing += cell.failing > 0;
  }
  const double one =
      (width - left - right) / std::max<double>(1, static_cast<double>(c.entries.size()));
  const double panel = row * static_cast<double>(c.ranks.size()) + 34;
  Picture picture(width, 2 * panel + 44, "Coverage by rank and entry: pages saved and pages loaded",
                  std::to_string(expected - holes) + " of " + std::to_string(expected) +
                      " squares of rank, entry and direction saw page moves; " +
                      std::to_string(failing) + " pairs of rank and entry have a violation.");
  double top = 0;
  for (const Map& map : maps) {
    std::int64_t most = 0;
    for (const auto& cell : c.cells)
      most = std::max(most, cell.*map.count);
    picture.text(4, top + 12, "strong", std::string("Pages ") + map.name);
    picture.text(width - right, top + 12, "soft small",
                 "at most " + std::to_string(most) + " of one entry", "end");
    for (std::size_t r = 0; r < c.ranks.size(); ++r) {
      picture.text(left - 5, top + 29 + row * static_cast<double>(r), "small",
                   "rank " + std::to_string(c.ranks[r]), "end");
    }
    for (const auto& cell : c.cells) {
      const auto at = std::find(c.ranks.begin(), c.ranks.end(), cell.rank);
      if (at == c.ranks.end()) continue;
      const auto& entry = c.entries[column[cell.entry]];
      const std::int64_t count = cell.*map.count;
      picture.rect(left + one * static_cast<double>(column[cell.entry]),
                   top + 19 + row * static_cast<double>(at - c.ranks.begin()),
                   std::max(one - .6, .4), row - 2, shade(cell, entry.transferred, count, most),
                   entry.name + ", rank " + std::to_string(cell.rank) + ": " +
                       std::to_string(count) + " pages " + map.name +
                       (cell.failing ? ", " + std::to_string(cell.failing) + " violations" : "") +
                       (entry.transferred ? "" : ", declared as not transferred"));
    }
    // Where the kind of entry changes, its name.
    const double foot = top + 19 + row * static_cast<double>(c.ranks.size());
    for (std::size_t i = 0; i < c.entries.size(); ++i) {
      if (i > 0 && c.entries[i].kind == c.entries[i - 1].kind) continue;
      const double x = left + one * static_cast<double>(i);
      picture.line(x, foot - 1, x, foot + 9, "axis");
      picture.text(x + 3, foot + 8, "soft small", audit::entry_kind_name(c.entries[i].kind));
    }
    top += panel;
  }
  key(picture, top + 14, left, "m1", "few");
  key(picture, top + 14, left + 44, "m3", "most");
  key(picture, top + 14, left + 96, "hole", "never, though declared");
  key(picture, top + 30, left, "blank", "declared as not transferred");
  key(picture, top + 30, left + 150, "bad", "has a violation");
  return picture;
}

} // namespace hitproof::cli
