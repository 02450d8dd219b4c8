// What a preset is, as one JSON object, for tools that know no dimension by themselves.
#pragma once

#include <string>
#include <vector>

namespace hitproof::engine {

// Checkpoint interval, vocabulary, longest request, page sizes and entries of a rank, the recorded
// kernel profile, and `device_names`, of the GPUs asked for. Throws std::invalid_argument for an
// unknown preset.
std::string describe_preset(const std::string& preset, int tp,
                            const std::vector<std::string>& device_names);

} // namespace hitproof::engine
