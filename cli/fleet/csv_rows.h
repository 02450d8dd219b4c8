// Rows of a table as CSV that DuckDB reads back value for value: NULL, numbers of 64 bits, text of
// any kind, bytes in hexadecimal digits. Each file is read once, by the statement made here.
#pragma once

#include "schema/merged_file.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace hitproof::cli {

class CsvRows {
 public:
  explicit CsvRows(std::vector<schema::MergedColumn> columns) : columns_(std::move(columns)) {}
  CsvRows(const CsvRows&) = delete;
  CsvRows& operator=(const CsvRows&) = delete;
  ~CsvRows();

  schema::Status open(const std::string& path);
  // Values are NULL or of their column's type. Errors: no_space, io_error.
  schema::Status add(const schema::Query& row);
  schema::Status add(const std::vector<schema::MergedValue>& row);
  schema::Status close();

  // "SELECT ... FROM read_csv('...')" for what was written.
  std::string select() const;
  std::int64_t rows() const noexcept { return rows_; }
  // Texts in which broken UTF-8 or a NUL became the replacement character: Parquet takes no other.
  std::int64_t replaced() const noexcept { return replaced_; }

 private:
  void add_text(const std::string& text);
  schema::Status end_row();

  std::vector<schema::MergedColumn> columns_;
  std::string path_, line_;
  std::FILE* file_ = nullptr;
  std::int64_t rows_ = 0, replaced_ = 0;
  std::size_t longest_ = 0;
};

// 'text' for SQL.
std::string sql_text(const std::string& text);

} // namespace hitproof::cli
