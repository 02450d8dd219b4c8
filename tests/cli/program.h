// Runs commands with the built programs in front of PATH, as a person at a shell would.
#pragma once

#include <string>
#include <vector>

namespace hitproof::cli::testing {

struct Ran {
  int exit = -1; // -1: it ended by a signal
  std::string out, err;
};

// `command` is a line for /bin/sh, run in `folder` where one is named; stdin is empty.
Ran run_shell(const std::string& command, const std::string& folder = "");

std::string file_contents(const std::string& path);
std::vector<std::string> lines_of(const std::string& text);

// Text with every run of white space made one space.
std::string squeezed(const std::string& text);

bool has_program(const std::string& name);

} // namespace hitproof::cli::testing
