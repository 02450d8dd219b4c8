#include "tests/e2e/exported.h"

#include "schema/plan.h"
#include "schema/recording.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <utility>

namespace hitproof::e2e {
namespace {

// RFC 4180, as the exports write it.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const bool doubled = quoted && i + 1 < text.size() && text[i + 1] == '"';
      if (doubled) row.back() += text[i++];
      if (!doubled) quoted = !quoted;
    } else if (c == ',' && !quoted) {
      row.emplace_back();
    } else if (c == '\n' && !quoted) {
      rows.push_back(std::exchange(row, std::vector<std::string>(1)));
    } else if (c != '\r') {
      row.back() += c;
    }
  }
  return rows;
}

std::int64_t began(const std::string& dir) {
  auto recording = schema::Recording::open_existing(dir);
  return recording.ok() ? recording->get_int("started_ns", 0) : 0;
}

} // namespace

Outcome exported(const std::vector<std::string>& archives,
                 const std::vector<std::string>& options) {
  std::vector<std::string> command = {program("hitproof"), "export"};
  command.insert(command.end(), archives.begin(), archives.end());
  command.insert(command.end(), options.begin(), options.end());
  return run(command);
}

std::string CsvTable::at(std::size_t row, const std::string& column) const {
  const auto found = std::find(head.begin(), head.end(), column);
  if (found != head.end() && row < rows.size())
    return rows[row][static_cast<std::size_t>(found - head.begin())];
  ADD_FAILURE() << "no column " << column << " in row " << row;
  return {};
}

std::vector<std::string> CsvTable::named(const std::string& first) const {
  for (const auto& row : rows)
    if (row.front() == first) return row;
  ADD_FAILURE() << "no row " << first;
  return {""};
}

CsvTable exported_csv(const std::vector<std::string>& archives, const std::string& table) {
  const Outcome made = exported(archives, {"--format", "csv", "--table", table});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  CsvTable out;
  out.rows = read_csv(made.out);
  if (out.rows.empty()) return out;
  out.head = out.rows.front();
  out.rows.erase(out.rows.begin());
  return out;
}

std::string order_of_arms(const std::string& dir) {
  const auto plan = schema::read_plan(dir + "/data/plan.toml");
  if (!plan.ok()) return plan.status().to_string();
  const bool control_first = began(dir + "/../control") < began(dir);
  const std::vector<std::string> real = control_first
                                            ? std::vector<std::string>{"control", "candidate"}
                                            : std::vector<std::string>{"candidate", "control"};
  return plan->arms == real ? real[0] + ", " + real[1] : "not as planned";
}

} // namespace hitproof::e2e
