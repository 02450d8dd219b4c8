#include "cli/plain_json.h"

#include <nlohmann/json.hpp>

namespace hitproof::cli {

std::string plain_json(const std::vector<std::pair<std::string, PlainValue>>& members) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  for (const auto& [key, value] : members) {
    if (std::holds_alternative<std::monostate>(value))
      j[key] = nullptr;
    else if (const auto* number = std::get_if<std::int64_t>(&value))
      j[key] = *number;
    else if (const auto* text = std::get_if<std::string>(&value))
      j[key] = *text;
    else
      j[key] = std::get<std::vector<std::string>>(value);
  }
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace hitproof::cli
