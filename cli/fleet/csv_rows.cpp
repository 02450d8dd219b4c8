#include "cli/fleet/csv_rows.h"

#include <cerrno>
#include <charconv>

namespace hitproof::cli {
namespace {

using schema::Status;

constexpr std::size_t duckdbs_longest_line = 2'000'000; // unless it is told otherwise

void add_number(std::string& line, std::int64_t value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  if (error == std::errc()) line.append(digits, end);
}

void add_real(std::string& line, double value) {
  char digits[40];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  if (error == std::errc()) line.append(digits, end); // the shortest that reads back the same
}

void add_hex(std::string& line, const std::string& bytes) {
  static constexpr char digits[] = "0123456789ABCDEF";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    (line += digits[byte >> 4]) += digits[byte & 15];
  }
}

// Bytes of the character that begins at `at`, 0 where there is none (RFC 3629).
std::size_t character(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(at), second = byte(at + 1);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return follows(at + 1) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0) {
    const bool plain = (first != 0xE0 || second >= 0xA0) && (first != 0xED || second < 0xA0);
    return plain && follows(at + 1) && follows(at + 2) ? 3 : 0;
  }
  if (first >= 0xF0 && first < 0xF5) {
    const bool plain = (first != 0xF0 || second >= 0x90) && (first != 0xF4 || second < 0x90);
    return plain && follows(at + 1) && follows(at + 2) && follows(at + 3) ? 4 : 0;
  }
  return 0;
}

} // namespace

std::string sql_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

CsvRows::~CsvRows() {
  if (file_ != nullptr) std::fclose(file_);
}

Status CsvRows::open(const std::string& path) {
  path_ = path;
  file_ = std::fopen(path.c_str(), "wbe");
  return file_ != nullptr ? Status() : Status::from_errno(errno, "create " + path);
}

void CsvRows::add_text(const std::string& text) {
  line_ += '"';
  bool broken = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character(text, at);
    broken |= bytes == 0;
    if (bytes == 0)
      line_ += "\xEF\xBF\xBD";
    else if (text[at] == '"')
      line_ += "\"\"";
    else
      line_.append(text, at, bytes);
    at += bytes == 0 ? 1 : bytes;
  }
  line_ += '"';
  replaced_ += broken;
}

Status CsvRows::add(const schema::Query& row) {
  line_.clear();
  for (int i = 0; i < static_cast<int>(columns_.size()); ++i) {
    const std::string& type = columns_[static_cast<std::size_t>(i)].type;
    if (i > 0) line_ += ',';
    if (row.is_null(i))
      line_ += "\\N";
    else if (type == "INTEGER")
      add_number(line_, row.integer(i));
    else if (type == "REAL")
      add_real(line_, row.real(i));
    else if (type == "BLOB")
      add_hex(line_, row.blob(i));
    else
      add_text(row.text(i));
  }
  return end_row();
}

Status CsvRows::add(const std::vector<schema::MergedValue>& row) {
  line_.clear();
  for (const schema::MergedValue& value : row) {
    if (&value != row.data()) line_ += ',';
    if (const auto* number = std::get_if<std::int64_t>(&value))
      add_number(line_, *number);
    else
      add_text(std::get<std::string>(value));
  }
  return end_row();
}

Status CsvRows::end_row() {
  line_ += '\n';
  longest_ = std::max(longest_, line_.size());
  ++rows_;
  if (std::fwrite(line_.data(), 1, line_.size(), file_) == line_.size()) return {};
  return Status::from_errno(errno, "write " + path_);
}

Status CsvRows::close() {
  const bool written = std::fclose(file_) == 0;
  file_ = nullptr;
  return written ? Status() : Status::from_errno(errno, "write " + path_);
}

std::string CsvRows::select() const {
  std::string values, types;
  for (const schema::MergedColumn& c : columns_) {
    const std::string comma = values.empty() ? "" : ", ";
    const std::string type = c.type == "INTEGER" ? "BIGINT"
                             : c.type == "REAL"  ? "DOUBLE"
                                                 : "VARCHAR";
    values += comma + (c.type == "BLOB" ? "unhex(\"" + c.name + "\") AS \"" + c.name + "\""
                                        : "\"" + c.name + "\"");
    types += comma + sql_text(c.name) + ": '" + type + "'";
  }
  std::string text = "SELECT " + values + " FROM read_csv(" + sql_text(path_) + ", columns = {" +
                     types +
                     "}, header = false, auto_detect = false, delim = ',', quote = '\"', escape = "
                     "'\"', nullstr = '\\N', allow_quoted_nulls = false, new_line = '\\n', "
                     "parallel = false";
  if (longest_ >= duckdbs_longest_line)
    text += ", max_line_size = " + std::to_string(longest_ + 1) +
            ", buffer_size = " + std::to_string(2 * longest_ + 2);
  return text + ")";
}

} // namespace hitproof::cli
