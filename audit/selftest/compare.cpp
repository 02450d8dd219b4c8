#include "audit/selftest/compare.h"

#include <nlohmann/json.hpp>
#include <span>

namespace hitproof::audit::selftest {
namespace {

using Json = nlohmann::ordered_json;
using Path = std::vector<std::string>;

Path split(const std::string& text) {
  Path path;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('/', at), text.size());
    path.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return path;
}

void remove(Json& from, std::span<const std::string> path) {
  const std::string& name = path[0];
  const bool last = path.size() == 1;
  if (name == "*") {
    if (last && from.is_structured())
      from.clear();
    else
      for (Json& item : from)
        if (item.is_structured()) remove(item, path.subspan(1));
  } else if (from.is_object() && from.contains(name)) {
    if (last)
      from.erase(name);
    else
      remove(from[name], path.subspan(1));
  }
}

std::string shown(const Json& value) {
  std::string text = value.dump();
  if (text.size() > 160) text = text.substr(0, 157) + "...";
  return text;
}

std::string first_difference(const Json& a, const Json& b, const std::string& where) {
  if (a == b && a.dump() == b.dump()) return "";
  const auto below = [&](const std::string& name) {
    return where.empty() ? name : where + "/" + name;
  };
  if (a.is_object() && b.is_object()) {
    for (const auto& [name, value] : a.items()) {
      if (!b.contains(name)) return below(name) + ": " + shown(value) + " is gone";
      const std::string found = first_difference(value, b[name], below(name));
      if (!found.empty()) return found;
    }
    for (const auto& [name, value] : b.items())
      if (!a.contains(name)) return below(name) + ": " + shown(value) + " was added";
    return where + ": the order of its parts changed";
  }
  if (a.is_array() && b.is_array() && a.size() == b.size()) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::string found = first_difference(a[i], b[i], below(std::to_string(i)));
      if (!found.empty()) return found;
    }
  }
  return where + ": " + shown(a) + " became " + shown(b);
}

} // namespace

std::string difference(const std::string& before, const std::string& after,
                       const std::vector<MayChange>& except) {
  if (before == after) return "";
  Json a = Json::parse(before), b = Json::parse(after);
  for (const MayChange& part : except) {
    const Path path = split(part.path);
    remove(a, path);
    remove(b, path);
  }
  return first_difference(a, b, "");
}

} // namespace hitproof::audit::selftest
