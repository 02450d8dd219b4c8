// Whether the pages of a settled recording are sound, read without SQLite: what its quick_check
// finds out, many times as fast. Internal to the schema.
#pragma once

#include "schema/table_text.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hitproof::schema {

struct RootedTable {
  std::uint32_t root = 0; // page of its b-tree's root
  TableText text;
};

// True only where it is certain that quick_check would object to nothing: every page of the file
// belongs to one b-tree, one row or the list of free pages, once; cells and free space fill a page
// without overlap; rowids ascend; every row has its table's columns, each of the declared kind,
// none NULL that must not be. Of tables without rowids only the pages are looked at: their order is
// to be checked by SQLite. False says nothing: the file is damaged, of a form not read here, or
// cannot be read. `tables`: all of the file. Never reads outside of the file; work and memory are
// bounded by its size.
bool surely_sound(const std::string& path, const std::vector<RootedTable>& tables);

} // namespace hitproof::schema
