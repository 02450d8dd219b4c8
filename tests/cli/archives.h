// The archives that the runs of runs.txt are about, made once a test program.
#pragma once

#include <map>
#include <string>

namespace hitproof::cli::testing {

// Name (good, again, full, short, metadata, open, damaged, lost, newer, garbage, escape) to folder,
// below `root`.
std::map<std::string, std::string> make_archives(const std::string& root);

} // namespace hitproof::cli::testing
