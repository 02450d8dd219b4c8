// A manifest of an archive, read strictly: the one text that names these files. Internal to the
// archive.
#pragma once

#include "schema/bag.h"

#include <string>
#include <string_view>
#include <vector>

namespace hitproof::schema::bag {

struct Manifest {
  std::vector<Line> lines;           // readable ones, ascending by path, each path once
  std::vector<std::string> problems; // what breaks the format, with the line: "line 3: ..."

  // Null where no line names `path`.
  const Line* find(std::string_view path) const;
};

// Lines are "<digest>  <path>\n", ascending by path in byte order; no path twice, none that differs
// from another in the case of its letters alone; at most max_files of them, of which the first that
// is too much ends the reading. Never fails: what is wrong stands in `problems`, of which at most
// 100 are kept.
Manifest parse_manifest(std::string_view text);

} // namespace hitproof::schema::bag
