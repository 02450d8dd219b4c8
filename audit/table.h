// A table of results as plain data, for whoever prints it (text, CSV, LaTeX, JSON, HTML).
#pragma once

#include <string>
#include <vector>

namespace hitproof::audit {

struct Column {
  std::string name; // as a reader sees it: "B before"
  std::string unit; // "tokens", "bytes", or empty
  bool number = true;
};

// Where a number comes from. `source` names the file under audit/rules that says what is counted
// ("pages_moved.sql"), or the command that gives it where no query does (then there is no
// statement). `statement` gives the number again in the sqlite3 shell on data/recording.sqlite, a
// list one number a row. Made in trace.h.
struct Trace {
  std::string source;
  std::string before; // what must be run first: the control arm attached, for example
  std::string statement;
  // Folder of the archive that it is about, in a table over several; empty: the table's own.
  std::string archive = {};

  // What a reviewer runs, on one line; empty where no query gives the number.
  std::string script() const { return statement.empty() ? "" : before + statement; }
};

struct Table {
  std::string id; // file name without suffix: "boundary_matrix"
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  // Of each cell, parallel to `rows`; empty for a table whose numbers nobody asks about.
  std::vector<std::vector<Trace>> traces;
  // Sentences under the table: what it does not hold, and why.
  std::vector<std::string> notes = {};
};

} // namespace hitproof::audit
