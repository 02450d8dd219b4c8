#include "schema/manifest.h"

#include <algorithm>

namespace hitproof::schema::bag {
namespace {

constexpr std::size_t max_problems = 100;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

void find_twins(Manifest& parsed) {
  std::vector<std::pair<std::string, const Line*>> names;
  for (const Line& line : parsed.lines)
    names.emplace_back(lower_case(line.path), &line);
  std::sort(names.begin(), names.end());
  for (std::size_t i = 1; i < names.size() && parsed.problems.size() < max_problems; ++i)
    if (names[i].first == names[i - 1].first)
      parsed.problems.push_back(names[i - 1].second->path + " and " + names[i].second->path +
                                " are one name where case does not count");
}

} // namespace

const Line* Manifest::find(std::string_view path) const {
  const auto at =
      std::lower_bound(lines.begin(), lines.end(), path,
                       [](const Line& line, std::string_view p) { return line.path < p; });
  return at != lines.end() && at->path == path ? &*at : nullptr;
}

Manifest parse_manifest(std::string_view text) {
  Manifest parsed;
  std::size_t number = 0;
  const auto complain = [&](const std::string& why) {
    if (parsed.problems.size() < max_problems)
      parsed.problems.push_back("line " + std::to_string(number) + ": " + why);
  };
  if (text.empty()) parsed.problems.push_back("names no file");
  while (!text.empty()) {
    if (++number > max_files) {
      complain("an archive has at most " + std::to_string(max_files) +
               " files; what follows is not read");
      break;
    }
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) complain("the line has no end");
    Result<Line> line = parse_line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.ok())
      complain(line.status().message());
    else if (!parsed.lines.empty() && parsed.lines.back().path == line->path)
      complain(line->path + " is named twice");
    else if (!parsed.lines.empty() && parsed.lines.back().path > line->path)
      complain(line->path + " stands behind a later name, or is named twice");
    else
      parsed.lines.push_back(std::move(line).value());
  }
  find_twins(parsed);
  return parsed;
}

} // namespace hitproof::schema::bag
