#include "schema/table_pages.h"

#include "schema/recording_guard.h"
#include "schema/sqlite_format.h"
#include "schema/table_text.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace hitproof::schema {
namespace {

using namespace sqlite_format;

std::int64_t integer(const std::uint8_t* at, std::uint64_t type) {
  if (type == 8 || type == 9) return static_cast<std::int64_t>(type) - 8;
  const auto bytes = static_cast<int>(value_bytes(type));
  std::uint64_t value = at[0] & 0x80 ? ~std::uint64_t{0} : 0;
  for (int i = 0; i < bytes; ++i)
    value = value << 8 | at[i];
  return static_cast<std::int64_t>(value);
}

} // namespace

Result<TableMap> TableMap::of(Recording& recording) {
  TableMap map;
  map.path_ = recording.path();
  const auto file = look_at_database(map.path_);
  if (!file.ok()) return file.status();
  if (!file->settled)
    return Status(Code::unsupported, map.path_ + ": a log lies beside the recording");
  map.file_bytes_ = static_cast<std::int64_t>(file->bytes);
  std::uint8_t head[file_header];
  const int fd = ::open(map.path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status::from_errno(errno, "open " + map.path_);
  const bool read = ::pread(fd, head, sizeof head, 0) == static_cast<ssize_t>(sizeof head);
  ::close(fd);
  if (!read) return Status(Code::io_error, map.path_ + ": cannot be read");
  map.page_bytes_ = big_endian(head + 16, 2) == 1 ? 65536 : big_endian(head + 16, 2);
  map.usable_bytes_ = map.page_bytes_ - head[20];
  if (map.page_bytes_ < 512 || map.usable_bytes_ < 480)
    return Status(Code::unsupported, map.path_ + ": pages of an unusual size");
  auto q =
      recording.query("SELECT name, rootpage, sql FROM main.sqlite_master WHERE type = 'table'");
  if (!q.ok()) return q.status();
  while (q->next()) {
    const auto parsed = parse_tables(q->text(2) + ";");
    if (!parsed.ok() || parsed->size() != 1 || parsed->front().without_rowid) continue;
    Place place;
    place.root = static_cast<std::uint32_t>(q->integer(1));
    place.count = parsed->front().columns.size();
    int position = 0;
    bool alias = false; // an INTEGER PRIMARY KEY is not in the row
    for (const ColumnText& column : parsed->front().columns) {
      alias = alias || column.key != 0;
      place.columns[column.name] = position++;
      place.types[column.name] = column.type;
    }
    if (!alias) map.tables_[parsed->front().name] = std::move(place);
  }
  if (!q->status().ok()) return q->status();
  return map;
}

bool TableMap::has(std::string_view table) const { return tables_.contains(table); }

Result<TablePages> TablePages::open(const TableMap& map, std::string_view table,
                                    const std::vector<std::string>& columns) {
  const auto place = map.tables_.find(table);
  if (place == map.tables_.end())
    return Status(Code::unsupported, map.path_ + ": no plain table " + std::string(table));
  TablePages pages;
  pages.path_ = map.path_;
  pages.table_ = table;
  pages.page_bytes_ = map.page_bytes_;
  pages.usable_ = map.usable_bytes_;
  pages.page_.integers_.resize(columns.size());
  pages.page_.digests_.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto column = place->second.columns.find(columns[i]);
    if (column == place->second.columns.end())
      return Status(Code::unsupported,
                    map.path_ + ": no column " + columns[i] + " in " + std::string(table));
    pages.wanted_.push_back({column->second, i, place->second.types.at(columns[i]) == "BLOB"});
  }
  std::sort(pages.wanted_.begin(), pages.wanted_.end(),
            [](const Wanted& a, const Wanted& b) { return a.position < b.position; });
  pages.file_ = ::open(map.path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (pages.file_ < 0) return Status::from_errno(errno, "open " + map.path_);
  pages.buffer_.resize(map.page_bytes_);
  Status status = pages.find_leaves(place->second.root,
                                    static_cast<std::uint32_t>(map.file_bytes_ / map.page_bytes_));
  if (!status.ok()) return status;
  return pages;
}

TablePages::TablePages(TablePages&& other) noexcept { *this = std::move(other); }

TablePages& TablePages::operator=(TablePages&& other) noexcept {
  if (this == &other) return *this;
  if (file_ >= 0) ::close(file_);
  file_ = std::exchange(other.file_, -1);
  path_ = std::move(other.path_);
  table_ = std::move(other.table_);
  page_bytes_ = other.page_bytes_;
  usable_ = other.usable_;
  wanted_ = std::move(other.wanted_);
  leaves_ = std::move(other.leaves_);
  at_ = other.at_;
  start_ = other.start_;
  buffer_ = std::move(other.buffer_);
  page_ = std::move(other.page_);
  status_ = std::move(other.status_);
  return *this;
}

TablePages::~TablePages() {
  if (file_ >= 0) ::close(file_);
}

bool TablePages::damaged(const char* why) {
  status_ = Status(Code::corruption, path_ + ": table " + table_ + ": " + why);
  return false;
}

bool TablePages::unusual(const char* why) {
  status_ = Status(Code::unsupported, path_ + ": table " + table_ + ": " + why);
  return false;
}

Status TablePages::read(std::uint32_t number) {
  const auto offset = static_cast<off_t>(number - 1) * page_bytes_;
  if (::pread(file_, buffer_.data(), page_bytes_, offset) != static_cast<ssize_t>(page_bytes_))
    return Status(Code::io_error, path_ + ": page " + std::to_string(number) + " cannot be read");
  start_ = number == 1 ? file_header : 0;
  return {};
}

// All leaves lie at the depth of the first; interior pages are read level by level.
Status TablePages::find_leaves(std::uint32_t root, std::uint32_t pages_of_file) {
  leaves_ = {root};
  for (int depth = 0; depth < 20; ++depth) {
    if (leaves_.front() == 0 || leaves_.front() > pages_of_file) break;
    if (Status status = read(leaves_.front()); !status.ok()) return status;
    if (buffer_[start_] == leaf_table) return {};
    std::vector<std::uint32_t> below;
    for (const std::uint32_t number : leaves_) {
      if (number == 0 || number > pages_of_file || below.size() > pages_of_file)
        return Status(Code::corruption,
                      path_ + ": table " + table_ + " names pages twice or outside");
      if (Status status = read(number); !status.ok()) return status;
      const std::uint8_t* head = buffer_.data() + start_;
      const std::size_t cells = big_endian(head + 3, 2);
      if (*head != interior_table || start_ + 12 + 2 * cells > usable_)
        return Status(Code::corruption,
                      path_ + ": table " + table_ + " has a page of another kind");
      for (std::size_t i = 0; i < cells; ++i) {
        const std::size_t at = big_endian(head + 12 + 2 * i, 2);
        if (at + 4 > usable_)
          return Status(Code::corruption, path_ + ": table " + table_ + " has a cell outside");
        below.push_back(big_endian(buffer_.data() + at, 4));
      }
      below.push_back(big_endian(head + 8, 4));
    }
    leaves_ = std::move(below);
  }
  return Status(Code::corruption, path_ + ": table " + table_ + " is no tree");
}

bool TablePages::next() {
  if (!status_.ok() || at_ >= leaves_.size()) return false;
  const std::uint32_t number = leaves_[at_++];
  if (number == 0) return damaged("page 0");
  status_ = read(number);
  return status_.ok() && decode();
}

bool TablePages::decode() {
  page_.rowids_.clear();
  for (auto& column : page_.integers_)
    column.clear();
  for (auto& column : page_.digests_)
    column.clear();
  const std::uint8_t* head = buffer_.data() + start_;
  if (*head != leaf_table) return damaged("a page of another kind");
  const std::size_t cells = big_endian(head + 3, 2);
  if (start_ + 8 + 2 * cells > usable_) return damaged("more rows than a page holds");
  for (std::size_t i = 0; i < cells; ++i) {
    if (!decode_row(big_endian(head + 8 + 2 * i, 2))) return false;
  }
  return true;
}

bool TablePages::decode_row(std::size_t at) {
  const std::uint8_t* const end = buffer_.data() + usable_;
  const std::uint8_t* cell = buffer_.data() + at;
  if (at >= usable_) return damaged("a row outside of its page");
  std::uint64_t payload = 0, rowid = 0, header = 0;
  int n = varint(cell, end, payload);
  if (n == 0) return damaged("a row cut off");
  cell += n;
  n = varint(cell, end, rowid);
  if (n == 0) return damaged("a row cut off");
  cell += n;
  if (payload > usable_ - 35) return unusual("a row that goes on in another page");
  if (payload > static_cast<std::uint64_t>(end - cell)) return damaged("a row cut off");
  const std::uint8_t* const row_end = cell + payload;
  n = varint(cell, row_end, header);
  if (n == 0 || header > payload) return damaged("a row without types");
  const std::uint8_t* type_at = cell + n;
  const std::uint8_t* const types_end = cell + header;
  const std::uint8_t* value = types_end;
  int position = 0;
  for (const Wanted& want : wanted_) {
    std::uint64_t type = 0;
    for (;; ++position) {
      n = varint(type_at, types_end, type);
      if (n == 0) return unusual("a row with fewer columns");
      type_at += n;
      if (position == want.position) break;
      const std::uint64_t bytes = value_bytes(type);
      if (bytes > static_cast<std::uint64_t>(row_end - value)) return damaged("a value cut off");
      value += bytes;
    }
    ++position;
    const std::uint64_t bytes = value_bytes(type);
    if (bytes > static_cast<std::uint64_t>(row_end - value)) return damaged("a value cut off");
    if (want.digest) {
      if (type != 12 + 2 * 32) return unusual("a digest of another form");
      page_.digests_[want.slot].push_back(value);
    } else {
      if (!is_integer(type)) return unusual("no whole number where one belongs");
      page_.integers_[want.slot].push_back(integer(value, type));
    }
    value += bytes;
  }
  page_.rowids_.push_back(static_cast<std::int64_t>(rowid));
  return true;
}

} // namespace hitproof::schema
