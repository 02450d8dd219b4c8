// The small documents of --json: an object of words, numbers and lists, without the templates that
// a tree of values needs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hitproof::cli {

// monostate: null.
using PlainValue =
    std::variant<std::monostate, std::int64_t, std::string, std::vector<std::string>>;

// One JSON object and a newline, its keys in this order. Any bytes may stand in a text: what is no
// UTF-8 becomes the replacement character.
std::string plain_json(const std::vector<std::pair<std::string, PlainValue>>& members);

} // namespace hitproof::cli
