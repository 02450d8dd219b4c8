// The front process: everything put together, from the command line to the end.
#pragma once

#include "engine/front/options.h"

namespace hitproof::engine {

/// Blocks the signals that end a front: from here on they wait until it looks at them, on every
/// thread and through an exec. To be called before anything starts a thread (a CUDA driver does).
void hold_termination_signals();

/// Runs until SIGTERM, SIGINT or a failure. Exit status: 0 after an orderly end, 1 after a failure
/// while running (a child died, the ranks disagree), 2 where it could not start as asked (options,
/// port, log folder).
int run_front(const FrontOptions& options);

} // namespace hitproof::engine
