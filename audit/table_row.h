// A row of a table in the making: each cell beside the statement that gives it.
#pragma once

#include "audit/context.h"
#include "audit/table.h"

#include <string>

namespace hitproof::audit {

class Row {
 public:
  void put(std::string cell, Trace trace);
  void words(std::string text) { put(std::move(text), {}); }
  // Runs the statement and shows the number; nothing selected is "-" and has no trace.
  void number(Context& context, const char* source, const std::string& sql);
  // "n of m", two statements; "-" where one of them selects nothing, and where m is 0.
  void number_of(Context& context, const char* source, const std::string& n, const std::string& m);
  // Runs the statement and shows the text; nothing selected is "-".
  void text(Context& context, const char* source, const std::string& sql);
  // True where every cell behind the first is "-".
  bool says_nothing() const;
  void into(Table& table) &&;

 private:
  std::vector<std::string> cells_;
  std::vector<Trace> traces_;
};

// `sql` with every % replaced by `where`: the same statement over the tables of another arm.
std::string at(std::string sql, const std::string& where);

} // namespace hitproof::audit
