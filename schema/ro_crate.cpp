#include "schema/ro_crate.h"

#include <nlohmann/json.hpp>

namespace hitproof::schema::bag {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* specification = "https://w3id.org/ro/crate/1.1";

struct Kind {
  std::string_view ending, format, what;
};
constexpr Kind kinds[] = {
    {"/reference/recording.sqlite", "application/vnd.sqlite3", "Recording of the control arm"},
    {"/recording.sqlite", "application/vnd.sqlite3",
     "Recording: what the probes and the study saw"},
    {"/reference/plan.toml", "application/toml", "Plan of the control arm"},
    {"/plan.toml", "application/toml", "Plan, hashed before the first operation"},
    {".log", "text/plain", "Output of a process"},
    {".hpj", "application/octet-stream", "Journal segment that could not be read"},
};

// Identifiers are URI references, relative to the archive.
std::string uri_of(const std::string& path) {
  static constexpr char hex[] = "0123456789ABCDEF";
  std::string uri;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/._-~").find(c) != std::string_view::npos;
    if (plain)
      uri += c;
    else
      (uri += '%') += {hex[static_cast<unsigned char>(c) >> 4], hex[c & 15]};
  }
  return uri;
}

Json reference(const std::string& id) { return {{"@id", id}}; }

Json file_entity(const File& file) {
  Json entity = {{"@id", uri_of(file.path)},
                 {"@type", "File"},
                 {"name", file.path},
                 {"contentSize", std::to_string(file.bytes)}};
  for (const Kind& kind : kinds) {
    if (!file.path.ends_with(kind.ending)) continue;
    entity["encodingFormat"] = kind.format;
    entity["description"] = kind.what;
    break;
  }
  return entity;
}

} // namespace

std::string ro_crate_text(const std::vector<File>& files, const std::string& date,
                          const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string words;
  for (const auto& [label, value] : facts)
    words += "; " + label + ": " + value;
  Json parts = Json::array(), graph = Json::array();
  for (const File& file : files)
    parts.push_back(reference(uri_of(file.path)));
  graph.push_back({{"@id", ro_crate},
                   {"@type", "CreativeWork"},
                   {"about", reference("./")},
                   {"conformsTo", reference(specification)}});
  graph.push_back({{"@id", "./"},
                   {"@type", "Dataset"},
                   {"name", "Hitproof evidence archive"},
                   {"description", "Records of a run that loaded cached state, and nothing that "
                                   "judges them; format " +
                                       std::to_string(archive_version) + words},
                   {"datePublished", date},
                   {"hasPart", parts}});
  for (const File& file : files)
    graph.push_back(file_entity(file));
  const Json crate = {{"@context", specification + std::string("/context")}, {"@graph", graph}};
  return crate.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

} // namespace hitproof::schema::bag
