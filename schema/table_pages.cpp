#include "schema/table_pages.h"

#include "schema/recording_guard.h"
#include "schema/sqlite_format.h"
#include "schema/table_text.h"

#include <algorithm>
#include <cstring>
#include <endian.h>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace hitproof::schema {
namespace {

using namespace sqlite_format;

constexpr std::size_t forms = 256; // a power of two

// Of at most 8 bytes, of which 8 may be read.
std::int64_t integer(const std::uint8_t* at, std::uint8_t bytes) {
  std::uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<std::int64_t>(be64toh(value)) >> (64 - 8 * bytes);
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
  pages.buffer_.resize(map.page_bytes_ +
                       sizeof(std::uint64_t)); // numbers are read 8 bytes at a time
  pages.forms_.resize(forms);
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
  forms_ = std::move(other.forms_);
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
  const std::uint8_t* head = buffer_.data() + start_;
  if (*head != leaf_table) return damaged("a page of another kind");
  const std::size_t cells = big_endian(head + 3, 2);
  if (start_ + 8 + 2 * cells > usable_) return damaged("more rows than a page holds");
  page_.rowids_.resize(cells);
  for (const Wanted& want : wanted_) {
    if (want.digest)
      page_.digests_[want.slot].resize(cells);
    else
      page_.integers_[want.slot].resize(cells);
  }
  for (std::size_t i = 0; i < cells; ++i) {
    if (!decode_row(big_endian(head + 8 + 2 * i, 2), i)) return false;
  }
  return true;
}

// Null where the row cannot be read here; status_ says why.
const TablePages::Form* TablePages::form_of(const std::uint8_t* types,
                                            const std::uint8_t* types_end) {
  const auto bytes = static_cast<std::size_t>(types_end - types);
  Form& form = forms_[hash_of(types, bytes) & (forms - 1)];
  const bool known = bytes > 0 && form.header.size() == bytes &&
                     std::memcmp(form.header.data(), types, bytes) == 0;
  return known || learn(form, types, types_end) ? &form : nullptr;
}

bool TablePages::learn(Form& form, const std::uint8_t* types, const std::uint8_t* types_end) {
  form.header.clear(); // none has no types, until all is known
  form.fields.clear();
  const std::uint8_t* type_at = types;
  std::uint64_t offset = 0;
  int position = 0;
  for (const Wanted& want : wanted_) {
    std::uint64_t type = 0;
    for (;; ++position) {
      const int n = varint(type_at, types_end, type);
      if (n == 0) return unusual("a row with fewer columns");
      type_at += n;
      if (position == want.position) break;
      offset += std::min<std::uint64_t>(value_bytes(type), usable_);
    }
    ++position;
    if (want.digest && type != 12 + 2 * 32) return unusual("a digest of another form");
    if (!want.digest && !is_integer(type)) return unusual("no whole number where one belongs");
    const bool in_header = type == 8 || type == 9;
    form.fields.push_back({static_cast<std::uint32_t>(std::min<std::uint64_t>(offset, usable_)),
                           static_cast<std::uint8_t>(value_bytes(type)),
                           static_cast<std::uint8_t>(in_header ? type - 8 : 0)});
    offset += value_bytes(type);
  }
  form.needed = offset;
  form.header.assign(types, types_end);
  return true;
}

bool TablePages::decode_row(std::size_t at, std::size_t row) {
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
  n = varint(cell, cell + payload, header);
  if (n == 0 || header > payload || header < static_cast<std::uint64_t>(n))
    return damaged("a row without types");
  const std::uint8_t* const values = cell + header;
  const Form* form = form_of(cell + n, values);
  if (form == nullptr) return false;
  if (form->needed > payload - header) return damaged("a value cut off");
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const Field field = form->fields[i];
    const std::uint8_t* const value = values + field.offset;
    if (wanted_[i].digest)
      page_.digests_[wanted_[i].slot][row] = value;
    else
      page_.integers_[wanted_[i].slot][row] =
          field.bytes == 0 ? field.number : integer(value, field.bytes);
  }
  page_.rowids_[row] = static_cast<std::int64_t>(rowid);
  return true;
}

} // namespace hitproof::schema
