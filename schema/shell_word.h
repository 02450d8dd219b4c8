// Commands that a person copies, or that a program gives to a shell.
#pragma once

#include <string>

namespace hitproof::schema {

// `text`, any bytes but NUL, as one word of a command for a POSIX shell (bash and zsh among them,
// in scripts and at the prompt): as it stands where no shell reads anything into it, else in double
// quotes, in which statements with texts of SQL stay readable, or in single quotes where a prompt
// would take a "!" for its history.
std::string shell_word(const std::string& text);

} // namespace hitproof::schema
