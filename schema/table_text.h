// CREATE TABLE statements of the few forms that a recording's tables have. Whatever SQL can say
// beyond them (checks, collations, generated columns, virtual tables, expressions) is refused, so
// that a table read here does nothing but hold values. Internal to the schema.
#pragma once

#include "schema/status.h"

#include <string>
#include <string_view>
#include <vector>

namespace hitproof::schema {

struct ColumnText {
  std::string name; // lower case, as SQL compares names
  std::string type; // INTEGER, TEXT, BLOB, REAL, or empty
  bool not_null = false;
  int key = 0; // place in the primary key, from 1; 0: no part of it
};

struct TableText {
  std::string name; // lower case
  std::vector<ColumnText> columns;
  bool without_rowid = false;

  const ColumnText* find(std::string_view column) const; // null where there is none
};

// Every statement of `sql`; comments are skipped. Errors: invalid_argument names the first word
// that these forms do not know.
Result<std::vector<TableText>> parse_tables(std::string_view sql);

} // namespace hitproof::schema
