// A table of results as plain data, for whoever prints it (text, CSV, LaTeX, JSON).
#pragma once

#include <string>
#include <vector>

namespace hitproof::audit {

struct Column {
  std::string name; // as a reader sees it: "B before"
  std::string unit; // "tokens", "bytes", or empty
  bool number = true;
};

struct Table {
  std::string id; // file name without suffix: "boundary_matrix"
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

} // namespace hitproof::audit
