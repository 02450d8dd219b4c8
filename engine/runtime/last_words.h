// What a process of the engine says when it cannot go on: the cause and the remedy, on stderr.
#pragma once

#include <exception>
#include <string>

namespace hitproof::engine {

// One line for the user. Memory that is not to be had and threads that cannot be started are named
// with what to do about them; everything else speaks for itself.
std::string last_words(const std::exception_ptr& error);

// From here on an exception that nobody catches, on whatever thread, ends the process with its last
// words and exit status 2 instead of an abort.
void speak_last_words_on_terminate();

} // namespace hitproof::engine
