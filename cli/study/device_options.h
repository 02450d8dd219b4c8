// The options that say on what the reference runtime runs, the same for every command that starts
// it.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace hitproof::cli {

// --device sim|cuda and --gpus 0,1,...
void add_device_options(CLI::App& app, std::string& device, std::string& gpus);

} // namespace hitproof::cli
