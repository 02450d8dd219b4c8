// Numbers of a table's cell against those that its statement prints in the sqlite3 shell.
#pragma once

#include <algorithm>
#include <cstdio>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

namespace hitproof::cli::testing {

// What the command prints; throws where it fails.
inline std::string run(const std::string& command) {
  std::string out;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) throw std::runtime_error("no shell");
  char piece[4096];
  while (const std::size_t n = std::fread(piece, 1, sizeof piece, pipe))
    out.append(piece, n);
  if (pclose(pipe) != 0) throw std::runtime_error(command + "\n" + out);
  return out;
}

// "17,640 of 12" as 17640, 12; one number for a list in which all are equal.
inline std::vector<std::string> numbers_in(const std::string& text) {
  static const std::regex number(R"(-?\d[\d,]*(\.\d+)?(e-?\d+)?)");
  std::vector<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    std::string one = it->str();
    std::erase(one, ',');
    out.push_back(one);
  }
  if (!out.empty() && std::all_of(out.begin(), out.end(), [&](auto& n) { return n == out[0]; }))
    out.resize(1);
  return out;
}

} // namespace hitproof::cli::testing
