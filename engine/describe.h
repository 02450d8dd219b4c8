// What a preset is, as one JSON object, for tools that know no dimension by themselves.
#pragma once

#include <string>

namespace hitproof::engine {

// Checkpoint interval, vocabulary, longest request, page sizes and entries of a rank, and the
// recorded kernel profile. Throws std::invalid_argument for an unknown preset.
std::string describe_preset(const std::string& preset, int tp);

} // namespace hitproof::engine
