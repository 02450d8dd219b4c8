// Stands in for the probe: the test programs define its functions, so that what the engine says can
// be looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hitproof::engine {

// "transfer 5 save rank 2 [0,128)", "page 5 entry 3 block 7 held 0", "ready 5", "done 5", "wait 5
// kind 0", "reuse 5 entry 3 block 7", "key 0a.. weights", "entry 3 origin 1" in the order of the
// calls.
std::vector<std::string> take_probe_log();
std::vector<std::string> take_probe_log(const std::string& first_word);

} // namespace hitproof::engine
