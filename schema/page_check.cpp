#include "schema/page_check.h"

#include "schema/sqlite_format.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hitproof::schema {
namespace {

using namespace sqlite_format;

constexpr int deepest = 20; // levels of a b-tree
constexpr std::uint64_t lock_byte = std::uint64_t{1} << 30;

struct Unsure {};
void sure(bool certain) {
  if (!certain) throw Unsure();
}

// The serial types that values of a column may have: a bit each for those below 12, then one for
// blobs and one for texts. Nothing that an affinity would have to change: quick_check objects to
// less.
using ColumnForm = std::uint16_t;
constexpr ColumnForm null_form = 1 << 0, integer_form = 0b11'0111'1110, real_form = 1 << 7,
                     blob_form = 1 << 12, text_form = 1 << 13;
ColumnForm form_of(const std::string& type) {
  if (type == "INTEGER") return integer_form;
  if (type == "REAL") return real_form | integer_form; // whole numbers are stored as such
  if (type == "TEXT") return text_form;
  if (type == "BLOB") return blob_form;
  return integer_form | real_form | text_form | blob_form;
}
bool fits(ColumnForm column, std::uint64_t type) {
  return (column >> (type < 12 ? type : 12 + type % 2) & 1) != 0;
}

std::vector<ColumnForm> columns_of(const TableText& table) {
  std::vector<ColumnForm> columns;
  int keys = 0;
  for (const ColumnText& c : table.columns)
    keys += c.key != 0;
  for (const ColumnText& c : table.columns) {
    ColumnForm form = form_of(c.type);
    // An INTEGER PRIMARY KEY is the rowid itself, and NULL in the row; any other key of a table
    // with rowids would have an index.
    const bool alias = c.key != 0 && keys == 1 && c.type == "INTEGER";
    sure(c.key == 0 || alias);
    if (alias || !c.not_null) form |= null_form;
    columns.push_back(form);
  }
  return columns;
}

class PageFile {
 public:
  explicit PageFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat s {};
    std::array<std::uint8_t, file_header> head{};
    sure(fd_ >= 0 && ::fstat(fd_, &s) == 0 &&
         ::pread(fd_, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()));
    page_bytes_ = big_endian(&head[16], 2) == 1 ? 65536 : big_endian(&head[16], 2);
    sure(page_bytes_ >= 512 && (page_bytes_ & (page_bytes_ - 1)) == 0);
    usable_ = page_bytes_ - head[20];
    const auto bytes = static_cast<std::uint64_t>(s.st_size);
    pages_ = static_cast<std::uint32_t>(bytes / page_bytes_);
    // A size in the header that counts, UTF-8, and no pages that say whose others are.
    sure(usable_ >= 480 && bytes % page_bytes_ == 0 && pages_ == big_endian(&head[28], 4) &&
         big_endian(&head[24], 4) == big_endian(&head[92], 4) && big_endian(&head[56], 4) == 1 &&
         big_endian(&head[52], 4) == 0 && head[21] == 64 && head[22] == 32 && head[23] == 32);
    free_first_ = big_endian(&head[32], 4);
    free_count_ = big_endian(&head[36], 4);
    owned_.resize(pages_ + 1);
  }
  ~PageFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  std::uint32_t usable() const { return usable_; }
  std::uint32_t page_bytes() const { return page_bytes_; }

  void own(std::uint32_t page) {
    sure(page >= 1 && page <= pages_ && page != lock_page() && !owned_[page]);
    owned_[page] = true;
  }
  void read(std::uint32_t page, std::vector<std::uint8_t>& into) const {
    into.resize(page_bytes_);
    sure(::pread(fd_, into.data(), page_bytes_, static_cast<off_t>(page - 1) * page_bytes_) ==
         static_cast<ssize_t>(page_bytes_));
  }
  // Pages of a row that goes on outside of its b-tree's page.
  void own_chain(std::uint32_t first, std::uint64_t bytes) {
    for (; bytes > 0; bytes -= std::min<std::uint64_t>(bytes, usable_ - 4)) {
      own(first);
      first = number_at(first, 0);
    }
    sure(first == 0);
  }
  void own_free_pages() {
    std::vector<std::uint8_t> trunk;
    std::uint32_t left = free_count_;
    for (std::uint32_t page = free_first_; page != 0; page = big_endian(trunk.data(), 4)) {
      own(page);
      sure(left-- > 0);
      read(page, trunk);
      const std::uint32_t leaves = big_endian(trunk.data() + 4, 4);
      sure(leaves <= usable_ / 4 - 2 && leaves <= left);
      for (std::uint32_t i = 0; i < leaves; ++i)
        own(big_endian(trunk.data() + 8 + 4 * i, 4));
      left -= leaves;
    }
    sure(left == 0);
  }
  void all_are_owned() const {
    for (std::uint32_t page = 1; page <= pages_; ++page)
      sure(owned_[page] || page == lock_page());
  }

 private:
  // SQLite never uses the page with the bytes that it locks.
  std::uint32_t lock_page() const {
    return static_cast<std::uint32_t>(lock_byte / page_bytes_) + 1;
  }
  std::uint32_t number_at(std::uint32_t page, std::size_t at) const {
    std::array<std::uint8_t, 4> bytes{};
    sure(::pread(fd_, bytes.data(), 4,
                 static_cast<off_t>(page - 1) * page_bytes_ + static_cast<off_t>(at)) == 4);
    return big_endian(bytes.data(), 4);
  }

  int fd_;
  std::uint32_t page_bytes_ = 0, usable_ = 0, pages_ = 0, free_first_ = 0, free_count_ = 0;
  std::vector<bool> owned_;
};

// One b-tree, page by page from the left.
class PageTree {
 public:
  // `columns` null: rows are not looked into.
  PageTree(PageFile& file, bool of_index, const std::vector<ColumnForm>* columns)
      : file_(file), leaf_(of_index ? leaf_index : leaf_table),
        interior_(of_index ? interior_index : interior_table), columns_(columns) {}

  void walk(std::uint32_t page, int depth = 0) {
    sure(depth < deepest);
    file_.own(page);
    std::vector<std::uint8_t>& bytes = pages_[static_cast<std::size_t>(depth)];
    file_.read(page, bytes);
    const std::size_t start = page == 1 ? file_header : 0;
    const std::uint8_t type = bytes[start];
    sure(type == leaf_ || type == interior_);
    const bool leaf = type == leaf_;
    const std::uint32_t cells = big_endian(&bytes[start + 3], 2);
    const std::size_t pointers = start + (leaf ? 8 : 12);
    sure(pointers + 2 * cells <= file_.usable());
    // Only a root may be empty, and only as a leaf.
    sure(cells > 0 || (leaf && depth == 0));
    std::vector<Extent>& extents = extents_[static_cast<std::size_t>(depth)];
    extents.clear();
    // Rows that came in order lie close from the page's end to its front.
    bool close = true;
    std::uint32_t front = file_.usable();
    for (std::uint32_t i = 0; i < cells; ++i) {
      const std::uint32_t at = big_endian(&bytes[pointers + 2 * i], 2);
      sure(at + 4 <= file_.usable());
      const std::uint32_t size =
          std::max(leaf ? leaf_cell(bytes, at) : interior_cell(bytes, at, depth), std::uint32_t{4});
      extents.push_back({at, size});
      close = close && at + size == front;
      front = at;
    }
    if (leaf) {
      sure(leaf_depth_ < 0 || leaf_depth_ == depth);
      leaf_depth_ = depth;
    } else {
      walk(big_endian(&bytes[start + 8], 4), depth + 1);
    }
    const std::uint32_t content = content_of(bytes, start);
    sure(content >= pointers + 2 * cells && content <= file_.usable());
    if (close && big_endian(&bytes[start + 1], 2) == 0)
      sure(front >= content && front - content == bytes[start + 7]);
    else
      fill(bytes, start, content, extents);
  }

 private:
  struct Extent {
    std::uint32_t at, size;
  };

  // Bytes of a cell's payload that are in the page; the rest is in pages of its own.
  std::uint32_t local(std::uint64_t payload) const {
    const std::uint64_t u = file_.usable();
    const std::uint64_t most = leaf_ == leaf_table ? u - 35 : (u - 12) * 64 / 255 - 23;
    if (payload <= most) return static_cast<std::uint32_t>(payload);
    const std::uint64_t least = (u - 12) * 32 / 255 - 23;
    const std::uint64_t k = least + (payload - least) % (u - 4);
    return static_cast<std::uint32_t>(k <= most ? k : least);
  }
  // `at`: where the payload begins. Returns where the cell ends.
  std::uint32_t end_of(const std::vector<std::uint8_t>& bytes, std::uint32_t at,
                       std::uint64_t payload) {
    sure(payload <= INT32_MAX);
    const std::uint32_t here = local(payload);
    const bool chained = here < payload;
    const std::uint32_t end = at + here + (chained ? 4 : 0);
    sure(end <= file_.usable());
    if (chained) file_.own_chain(big_endian(&bytes[at + here], 4), payload - here);
    return end;
  }

  std::uint32_t leaf_cell(const std::vector<std::uint8_t>& bytes, std::uint32_t begin) {
    const std::uint8_t* const limit = bytes.data() + file_.usable();
    std::uint32_t at = begin;
    const std::uint64_t payload = number(bytes, limit, at);
    if (leaf_ == leaf_table) after(static_cast<std::int64_t>(number(bytes, limit, at)));
    const std::uint32_t end = end_of(bytes, at, payload);
    if (columns_ != nullptr) row(&bytes[at], payload);
    return end - begin;
  }
  std::uint32_t interior_cell(const std::vector<std::uint8_t>& bytes, std::uint32_t begin,
                              int depth) {
    const std::uint8_t* const limit = bytes.data() + file_.usable();
    std::uint32_t at = begin + 4;
    const std::uint64_t n = number(bytes, limit, at);
    walk(big_endian(&bytes[begin], 4), depth + 1);
    if (leaf_ == leaf_index) return end_of(bytes, at, n) - begin;
    // The key is the largest rowid to its left or above it.
    const auto key = static_cast<std::int64_t>(n);
    sure(last_ <= key);
    last_ = key;
    return at - begin;
  }
  static std::uint64_t number(const std::vector<std::uint8_t>& bytes, const std::uint8_t* limit,
                              std::uint32_t& at) {
    std::uint64_t value = 0;
    const int n = varint(bytes.data() + at, limit, value);
    sure(n > 0);
    at += static_cast<std::uint32_t>(n);
    return value;
  }
  void after(std::int64_t rowid) {
    sure(!any_ || rowid > last_);
    any_ = true;
    last_ = rowid;
  }

  // The types in a row's header are those of its columns, and its values fill it.
  void row(const std::uint8_t* data, std::uint64_t payload) {
    const std::uint8_t* const limit = data + local(payload);
    std::uint64_t header = 0;
    const int n = varint(data, limit, header);
    sure(n > 0 && header >= static_cast<std::uint64_t>(n) &&
         header <= static_cast<std::uint64_t>(limit - data));
    sure(header + values_of(data + n, data + header) == payload);
  }

  // Bytes of the values behind a row's types. Rows of a table have few different headers.
  std::uint64_t values_of(const std::uint8_t* types, const std::uint8_t* types_end) {
    const auto bytes = static_cast<std::size_t>(types_end - types);
    Header& known = headers_[hash_of(types, bytes) % headers_.size()];
    if (bytes > 0 && known.types.size() == bytes &&
        std::memcmp(known.types.data(), types, bytes) == 0)
      return known.values;
    const std::uint8_t* type_at = types;
    std::uint64_t values = 0;
    for (const ColumnForm column : *columns_) {
      std::uint64_t type = 0;
      const int bytes_of_type = varint(type_at, types_end, type);
      sure(bytes_of_type > 0 && fits(column, type));
      type_at += bytes_of_type;
      values += value_bytes(type);
      sure(values <= INT32_MAX);
    }
    sure(type_at == types_end);
    known.types.assign(types, types_end);
    return known.values = values;
  }

  // Where the cells of a page begin.
  static std::uint32_t content_of(const std::vector<std::uint8_t>& bytes, std::size_t start) {
    const std::uint32_t content = big_endian(&bytes[start + 5], 2);
    return content == 0 ? 65536 : content;
  }

  // Cells and free blocks lie beside each other; what is left between them is what the page says.
  void fill(const std::vector<std::uint8_t>& bytes, std::size_t start, std::uint32_t content,
            std::vector<Extent>& extents) const {
    std::uint32_t before = 0;
    for (std::uint32_t at = big_endian(&bytes[start + 1], 2); at != 0;) {
      sure(at > before && at >= content && at + 4 <= file_.usable());
      const std::uint32_t size = big_endian(&bytes[at + 2], 2);
      sure(size >= 4 && at + size <= file_.usable());
      extents.push_back({at, size});
      before = at;
      at = big_endian(&bytes[at], 2);
    }
    const auto earlier = [](const Extent& a, const Extent& b) { return a.at < b.at; };
    std::sort(extents.begin(), extents.end(), earlier);
    std::uint32_t at = content, between = 0;
    for (const Extent& e : extents) {
      sure(e.at >= at && e.at + e.size <= file_.usable());
      between += e.at - at;
      at = e.at + e.size;
    }
    sure(between + (file_.usable() - at) == bytes[start + 7]);
  }

  struct Header {
    std::vector<std::uint8_t> types;
    std::uint64_t values = 0; // bytes
  };

  PageFile& file_;
  std::uint8_t leaf_, interior_;
  const std::vector<ColumnForm>* columns_;
  int leaf_depth_ = -1;
  bool any_ = false;
  std::int64_t last_ = INT64_MIN;
  std::array<std::vector<std::uint8_t>, deepest> pages_;
  std::array<std::vector<Extent>, deepest> extents_;
  std::array<Header, 256> headers_; // by a hash of the types
};

} // namespace

bool surely_sound(const std::string& path, const std::vector<RootedTable>& tables) {
  try {
    PageFile file(path);
    PageTree(file, false, nullptr).walk(1);
    for (const RootedTable& table : tables) {
      if (table.text.without_rowid) {
        PageTree(file, true, nullptr).walk(table.root);
        continue;
      }
      const std::vector<ColumnForm> columns = columns_of(table.text);
      PageTree(file, false, &columns).walk(table.root);
    }
    file.own_free_pages();
    file.all_are_owned();
    return true;
  } catch (const Unsure&) {
    return false;
  }
}

} // namespace hitproof::schema
