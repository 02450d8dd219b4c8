// What a preset is, as one JSON object, for tools that know no dimension by themselves.
#pragma once

#include <string>
#include <vector>

namespace hitproof::engine {

// Checkpoint interval, vocabulary, longest request, page sizes and entries of a rank, the recorded
// kernel profile, `device_names`, of the GPUs asked for, and `collectives`: host, ipc or nccl.
// Throws std::invalid_argument for an unknown preset, or a number of ranks that it cannot have.
std::string describe_preset(const std::string& preset, int tp,
                            const std::vector<std::string>& device_names,
                            const std::string& collectives);

} // namespace hitproof::engine
