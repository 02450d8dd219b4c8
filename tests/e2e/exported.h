// What `hitproof export` writes of archives, for tests that read it back.
#pragma once

#include "tests/e2e/run.h"

#include <string>
#include <vector>

namespace hitproof::e2e {

// `hitproof export ARCHIVES... OPTIONS...`, to stdout. Switches may stand among the archives.
Outcome exported(const std::vector<std::string>& archives, const std::vector<std::string>& options);

struct CsvTable {
  std::vector<std::vector<std::string>> rows; // without the head
  std::vector<std::string> head;
  // The cell below that head; fails the test where there is none.
  std::string at(std::size_t row, const std::string& column) const;
  // The row that begins with that cell; fails the test where there is none.
  std::vector<std::string> named(const std::string& first) const;
};
// One table as CSV.
CsvTable exported_csv(const std::vector<std::string>& archives, const std::string& table);

// "control, candidate": the order in which the plan of an archive has its arms run, if their
// recordings began in that order.
std::string order_of_arms(const std::string& dir);

} // namespace hitproof::e2e
