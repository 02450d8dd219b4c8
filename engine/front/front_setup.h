// From options to what the front works with: dimensions checked, sizes computed, every rank's start
// message.
#pragma once

#include "engine/front/completions.h"
#include "engine/front/engine.h"
#include "engine/front/options.h"

#include <string>
#include <utility>
#include <vector>

namespace hitproof::engine {

struct FrontSetup {
  EngineConfig engine;
  ApiLimits limits;
  std::string model_name;
  std::vector<std::pair<std::string, std::string>> facts; // for the recording
};

/// Throws std::invalid_argument that says what is wrong and what would be right. Makes the log
/// folder.
FrontSetup make_setup(const FrontOptions& options);

} // namespace hitproof::engine
