// One SQLite file that holds the rows of many recordings: the tables of records.sql, each with the
// archive's id in front (docs/fleets.md). Rows of one archive come in one transaction, so that a
// process killed at any moment leaves whole archives and nothing else.
//
// One process writes; the file is locked while it does. Not thread safe.
#pragma once

#include "schema/query.h"
#include "schema/status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace hitproof::schema {

inline constexpr int merged_format_version = 1;

struct MergedColumn {
  std::string name;
  std::string type; // INTEGER, TEXT, BLOB, REAL
};

using MergedValue = std::variant<std::int64_t, std::string>;

class MergedFile {
 public:
  // Opens `path`, or makes it. Errors: invalid_argument (something else lies there, which is left
  // as it is), newer_format, busy (another program writes it), no_space, io_error.
  static Result<MergedFile> open(const std::string& path);

  MergedFile(MergedFile&&) noexcept;
  MergedFile& operator=(MergedFile&&) noexcept;
  ~MergedFile(); // without close(): everything committed stays

  Status begin();
  Status commit();
  void rollback() noexcept;

  // Whether `table` has a row of `archive`; false where there is no such table.
  Result<bool> holds(const std::string& table, const std::string& archive);

  // Adds every row of `rows`, whose columns are `columns` in this order, and says how many. Values
  // are NULL or of their column's type; others are converted as SQLite does (a caller checks). The
  // table and columns that are not there yet are made; rows that are there have NULL in them.
  Result<std::int64_t> add(const std::string& table, const std::string& archive,
                           const std::vector<MergedColumn>& columns, Query& rows);
  Status add_row(const std::string& table, const std::string& archive,
                 const std::vector<MergedColumn>& columns, const std::vector<MergedValue>& values);

  // Leaves one file without side files.
  Status close();

 private:
  struct Impl;
  explicit MergedFile(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

} // namespace hitproof::schema
