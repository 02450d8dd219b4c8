// Recordings whose recorder was killed: what the probes had written still lies in journals beside
// them.
#pragma once

#include <string>

namespace hitproof::cli {

// Moves journals that nobody drained into the recording of `dir`, and says so on stderr unless
// `quiet`. The recording stays marked as not closed. Does nothing to a closed recording or one
// whose recorder is at work.
void recover_leftovers(const std::string& dir, bool quiet);

} // namespace hitproof::cli
