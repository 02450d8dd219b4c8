#include "tests/cli/json_schema.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

namespace hitproof::cli::testing {
namespace {

using nlohmann::json;

const std::string id_begin = "urn:hitproof:json:";

bool is_of_type(const json& value, const std::string& type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "null") return value.is_null();
  throw std::runtime_error("no type " + type);
}

bool fits_type(const json& value, const json& type) {
  if (type.is_string()) return is_of_type(value, type);
  return std::any_of(type.begin(), type.end(),
                     [&](const json& one) { return is_of_type(value, one); });
}

std::string shown(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 60) + "..." : text;
}

} // namespace

Schemas::Schemas(const std::string& folder) {
  for (const auto& item : std::filesystem::directory_iterator(folder)) {
    if (!item.path().string().ends_with(".schema.json")) continue;
    std::ifstream file(item.path());
    json schema = json::parse(file);
    const std::string id = schema.at("$id");
    by_id_.emplace(id, std::move(schema));
  }
}

std::vector<std::string> Schemas::names() const {
  std::vector<std::string> list;
  for (const auto& [id, schema] : by_id_)
    list.push_back(id.substr(id_begin.size()));
  return list;
}

std::vector<std::string> Schemas::complaints(const std::string& name, const json& document) const {
  const json& schema = by_id_.at(id_begin + name);
  return check(schema, document, {&schema, "$"});
}

void Schemas::check_object(const json& schema, const json& value, const Place& at,
                           std::vector<std::string>& wrong) const {
  const auto add = [&](std::vector<std::string> more) {
    wrong.insert(wrong.end(), more.begin(), more.end());
  };
  for (const std::string key : schema.value("required", json::array())) {
    if (!value.contains(key)) add({at.path + " lacks " + key});
  }
  const json properties = schema.value("properties", json::object());
  for (const auto& [key, member] : value.items()) {
    const Place inside = {at.root, at.path + "." + key};
    if (properties.contains(key))
      add(check(properties[key], member, inside));
    else if (schema.contains("additionalProperties"))
      add(check(schema["additionalProperties"], member, inside));
  }
}

std::vector<std::string> Schemas::check(const json& schema, const json& value,
                                        const Place& at) const {
  if (schema.is_boolean())
    return schema ? std::vector<std::string>{}
                  : std::vector<std::string>{at.path + " is not known"};
  static const std::set<std::string> words = {"$schema", "$id", "$defs", "title", "description"};
  std::vector<std::string> wrong;
  const auto add = [&](std::vector<std::string> more) {
    wrong.insert(wrong.end(), more.begin(), more.end());
  };
  for (const auto& [keyword, says] : schema.items()) {
    if (words.contains(keyword) || keyword == "required" || keyword == "additionalProperties")
      continue;
    if (keyword == "type") {
      if (!fits_type(value, says)) add({at.path + " is " + shown(value) + ", not " + says.dump()});
    } else if (keyword == "properties") {
      continue; // with the other words about objects, below
    } else if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i)
        add(check(says, value[i], {at.root, at.path + "[" + std::to_string(i) + "]"}));
    } else if (keyword == "enum") {
      if (std::find(says.begin(), says.end(), value) == says.end())
        add({at.path + " is " + shown(value) + ", none of " + says.dump()});
    } else if (keyword == "const") {
      if (value != says) add({at.path + " is " + shown(value) + ", not " + says.dump()});
    } else if (keyword == "minimum") {
      if (value.is_number() && value < says) add({at.path + " is less than " + says.dump()});
    } else if (keyword == "$ref") {
      const std::string name = says;
      if (name.starts_with("#"))
        add(check(at.root->at(json::json_pointer(name.substr(1))), value, at));
      else
        add(check(by_id_.at(name), value, {&by_id_.at(name), at.path}));
    } else if (keyword == "anyOf") {
      std::vector<std::string> reasons;
      bool fits = false;
      for (const json& one : says) {
        const auto why = check(one, value, at);
        fits = fits || why.empty();
        reasons.insert(reasons.end(), why.begin(), why.end());
      }
      if (!fits) add(std::move(reasons));
    } else {
      throw std::runtime_error("the schema has a keyword that is not checked: " + keyword);
    }
  }
  if (value.is_object()) check_object(schema, value, at, wrong);
  return wrong;
}

} // namespace hitproof::cli::testing
