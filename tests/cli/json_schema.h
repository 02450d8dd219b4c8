// A small validator of JSON Schema 2020-12: the keywords that docs/json uses, and no others. A
// schema with another keyword is refused, so that nothing in them goes unchecked.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hitproof::cli::testing {

class Schemas {
 public:
  // Reads every *.schema.json of a folder.
  explicit Schemas(const std::string& folder);

  // "audit", "verify", ...
  std::vector<std::string> names() const;
  // What is wrong with `document` by the schema of that name, with the place; empty: nothing.
  std::vector<std::string> complaints(const std::string& name,
                                      const nlohmann::json& document) const;

 private:
  struct Place {
    const nlohmann::json* root; // the schema file, for references into it
    std::string path;           // in the document
  };
  std::vector<std::string> check(const nlohmann::json& schema, const nlohmann::json& value,
                                 const Place& at) const;
  void check_object(const nlohmann::json& schema, const nlohmann::json& value, const Place& at,
                    std::vector<std::string>& wrong) const;

  std::map<std::string, nlohmann::json> by_id_;
};

} // namespace hitproof::cli::testing
