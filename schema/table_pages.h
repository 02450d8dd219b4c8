// A settled recording's tables read straight from the pages of its file, many rows at a time: some
// ten times the rate of statements, for whoever has to see every row of millions. SQLite's file
// format, section 1.5 and 2.1 (sqlite.org/fileformat2.html); checked at each step, so that damaged
// or hostile bytes end in an error and never outside of a page.
//
// What is not in the plain form that a recorder writes (text or NULL where a number belongs, a row
// that goes on in another page, a row of an older form with fewer columns) is `unsupported`: then
// statements are the way. Several readers may read one file, each from its own thread.
#pragma once

#include "schema/recording.h"
#include "schema/status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hitproof::schema {

// Rows of one page, column by column.
class PageRows {
 public:
  std::size_t rows() const noexcept { return rowids_.size(); }
  const std::vector<std::int64_t>& rowids() const noexcept { return rowids_; }
  // Of the `n`-th column asked for, which holds integers.
  const std::int64_t* integers(std::size_t n) const noexcept { return integers_[n].data(); }
  // Of the `n`-th column asked for, which holds digests of 32 bytes; valid until the next page.
  const std::uint8_t* const* digests(std::size_t n) const noexcept { return digests_[n].data(); }

 private:
  friend class TablePages;
  std::vector<std::int64_t> rowids_;
  std::vector<std::vector<std::int64_t>> integers_;
  std::vector<std::vector<const std::uint8_t*>> digests_;
};

// The places of a recording's tables in its file.
class TableMap {
 public:
  // Errors: unsupported (a log lies beside the file, or the database is of a form that is not read
  // here), io_error, and those of the query.
  static Result<TableMap> of(Recording& recording);
  bool has(std::string_view table) const;
  std::int64_t file_bytes() const noexcept { return file_bytes_; }

 private:
  friend class TablePages;
  struct Place {
    std::uint32_t root = 0;
    std::map<std::string, int, std::less<>> columns; // position in a row, from 0
    std::map<std::string, std::string, std::less<>> types;
    std::size_t count = 0;
  };
  std::string path_;
  std::int64_t file_bytes_ = 0;
  std::uint32_t page_bytes_ = 0, usable_bytes_ = 0;
  std::map<std::string, Place, std::less<>> tables_;
};

class TablePages {
 public:
  // `columns` by name, INTEGER or BLOB; unsupported where the table or one of them is not there.
  static Result<TablePages> open(const TableMap& map, std::string_view table,
                                 const std::vector<std::string>& columns);
  TablePages(TablePages&&) noexcept;
  TablePages& operator=(TablePages&&) noexcept;
  ~TablePages();

  // Moves to the next page; false at the end or on an error (then status() is not ok): corruption,
  // unsupported, io_error.
  bool next();
  const Status& status() const noexcept { return status_; }
  const PageRows& page() const noexcept { return page_; }

 private:
  struct Wanted {
    int position;
    std::size_t slot; // in PageRows
    bool digest;
  };
  // Where a wanted value lies behind a row's header, and its bytes: 0 for the numbers that a header
  // holds itself.
  struct Field {
    std::uint32_t offset = 0;
    std::uint8_t bytes = 0;
    std::uint8_t number = 0;
  };
  // What follows from a header, the same for every row that has it.
  struct Form {
    std::vector<std::uint8_t> header;
    std::vector<Field> fields; // of wanted_
    std::uint64_t needed = 0;  // bytes of values up to the last of them
  };
  TablePages() = default;
  Status find_leaves(std::uint32_t root, std::uint32_t pages_of_file);
  Status read(std::uint32_t number);
  bool decode();
  bool decode_row(std::size_t at, std::size_t row);
  const Form* form_of(const std::uint8_t* types, const std::uint8_t* types_end);
  bool learn(Form& form, const std::uint8_t* types, const std::uint8_t* types_end);
  bool damaged(const char* why);
  bool unusual(const char* why);

  int file_ = -1;
  std::string path_, table_;
  std::uint32_t page_bytes_ = 0, usable_ = 0;
  std::vector<Wanted> wanted_; // by position
  std::vector<Form> forms_;    // by a hash of the header: rows of a table have few
  std::vector<std::uint32_t> leaves_;
  std::size_t at_ = 0;
  std::size_t start_ = 0; // of the b-tree header in the page at hand
  std::vector<std::uint8_t> buffer_;
  PageRows page_;
  Status status_;
};

} // namespace hitproof::schema
