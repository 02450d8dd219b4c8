// The front process: everything put together, from the command line to the end.
#pragma once

#include "engine/front/options.h"

namespace hitproof::engine {

/// Runs until SIGTERM, SIGINT or a failure. Exit status: 0 after an orderly end, 1 after a failure
/// while running (a child died, the ranks disagree), 2 where it could not start as asked (options,
/// port, log folder).
int run_front(const FrontOptions& options);

} // namespace hitproof::engine
