// Signals: whether the person at the terminal, or a supervisor, asked this program to end; and
// those that are the news of a failed write.
#pragma once

namespace hitproof::cli {

// From now on SIGINT, SIGTERM and SIGHUP do not end the program at once; a study ends after the
// operation under way, a selftest after the change, keeps what it recorded, and says so. A second
// signal ends it at once. Writing to a reader that left fails from now on instead of ending the
// program.
void watch_interrupts();

bool interrupted();

// From now on the signal (SIGPIPE, SIGXFSZ) does not end the program: the call that met it fails,
// and its error is said. Programs that are started do not inherit this, as they would what is
// ignored.
void outlive(int number);

} // namespace hitproof::cli
