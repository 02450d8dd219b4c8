// Where a recording was made, as far as its readers must be warned.
#pragma once

#include <string>

namespace hitproof::audit {

// True for the simulated device: times of it claim nothing about speed.
inline bool is_simulated(const std::string& device) {
  return device == "sim" || device.find("(sim)") != std::string::npos;
}

} // namespace hitproof::audit
