// The options that say on what the reference runtime runs, the same for every command that starts
// it.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace hitproof::cli {

// --preset micro|tiny|paper
void add_preset_option(CLI::App& app, std::string& preset, const std::string& words);
// --device sim|cuda and --gpus 0,1,...
void add_device_options(CLI::App& app, std::string& device, std::string& gpus);
// --tp N and --collectives auto|ipc|nccl
void add_rank_options(CLI::App& app, std::uint32_t& tp, std::string& collectives);

} // namespace hitproof::cli
