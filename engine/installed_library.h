// Where the libraries lie that are loaded rather than linked.
#pragma once

#include <string>

namespace hitproof::engine {

// Path of a library of this installation, ../lib/hitproof/`name` seen from the running program's
// folder, without "..". Nothing is promised about its being there.
std::string installed_library(const std::string& name);

} // namespace hitproof::engine
