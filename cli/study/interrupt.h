// Whether the person at the terminal, or a supervisor, asked this program to end.
#pragma once

namespace hitproof::cli {

// From now on SIGINT, SIGTERM and SIGHUP do not end the program at once; a study ends after the
// operation under way, keeps what it recorded, and says so. A second signal ends it at once.
void watch_interrupts();

bool interrupted();

} // namespace hitproof::cli
