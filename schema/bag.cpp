#include "schema/bag.h"

#include "schema/plain_file.h"

#include <algorithm>
#include <filesystem>

namespace hitproof::schema::bag {
namespace fs = std::filesystem;

namespace {

Status refused(const std::string& why) { return Status(Code::invalid_argument, why); }

// No part of a path may be empty, "." or "..": each file then has one spelling, inside the bag.
Status check_parts(std::string_view path) {
  if (path.empty()) return refused("no path");
  if (path.size() > max_path_bytes) return refused("the path is longer than 1,024 bytes");
  if (path.front() == '/' || path.front() == '~')
    return refused("the path leads out of the archive");
  while (true) {
    const std::size_t end = path.find('/');
    const std::string_view part = path.substr(0, end);
    if (part == "..") return refused("the path leads out of the archive");
    if (part.empty() || part == ".") return refused("the path has an empty part");
    if (end == std::string_view::npos) return {};
    path.remove_prefix(end + 1);
  }
}

} // namespace

Status check_portable(std::string_view path) {
  if (Status status = check_parts(path); !status.ok()) return status;
  for (const char c : path) {
    if (c < 0x20 || c > 0x7e) return refused("its name has a character outside of printable ASCII");
    if (c == '%' || c == '\\') return refused(std::string("its name has a '") + c + "'");
  }
  for (std::size_t at = path.find(' '); at != std::string_view::npos; at = path.find(' ', at + 1))
    if (at == 0 || path[at - 1] == '/' || at + 1 == path.size() || path[at + 1] == '/')
      return refused("its name begins or ends with a blank");
  return {};
}

std::string encode_path(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (c == '\n')
      text += "%0A";
    else if (c == '\r')
      text += "%0D";
    else if (c == '%')
      text += "%25";
    else
      text += c;
  }
  return text;
}

Result<std::string> decode_path(std::string_view path) {
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (static_cast<unsigned char>(path[i]) >= 0x80)
      return refused("the path has a character outside of ASCII, which can be spelled in two ways");
    if (path[i] == '\0') return refused("the path has a zero byte");
    if (path[i] == '\r' || path[i] == '\n')
      return refused("the path has a line's end that is not written %0D or %0A");
    if (path[i] != '%') {
      text += path[i];
      continue;
    }
    const std::string_view code = path.substr(i, 3);
    if (code == "%0A")
      text += '\n';
    else if (code == "%0D")
      text += '\r';
    else if (code == "%25")
      text += '%';
    else
      return refused("a percent sign in the path stands for none of line feed, carriage return and "
                     "percent sign");
    i += 2;
  }
  if (Status status = check_parts(text); !status.ok()) return status;
  return text;
}

Result<Line> parse_line(std::string_view line) {
  constexpr std::size_t hex = 64;
  const std::string_view digits = line.substr(0, hex);
  Result<Digest> digest = digest_from_hex(digits);
  if (!digest.ok()) return digest.status();
  if (to_hex(*digest) != digits) return refused("the SHA-256 is not in lower case");
  if (line.substr(hex, 2) != "  ") return refused("no two blanks between digest and path");
  Result<std::string> path = decode_path(line.substr(hex + 2));
  if (!path.ok()) return path.status();
  return Line{*digest, *path};
}

std::string write_lines(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines)
    text += to_hex(line.digest) + "  " + encode_path(line.path) + "\n";
  return text;
}

bool is_payload(std::string_view path) { return path.starts_with("data/"); }

Result<std::vector<File>> list_files(const std::string& dir) {
  std::vector<File> files;
  std::error_code error;
  const fs::path root(dir);
  fs::recursive_directory_iterator it(root, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const fs::file_status kind = it->symlink_status(error);
    if (error) break;
    if (fs::is_directory(kind)) continue;
    const bool regular = fs::is_regular_file(kind);
    const std::uint64_t bytes = regular ? it->file_size(error) : 0;
    if (error) break;
    if (files.size() == max_files)
      return Status(Code::unsupported, "more than " + std::to_string(max_files) +
                                           " files lie there; an archive has no more");
    files.push_back({it->path().lexically_relative(root).generic_string(), bytes, regular});
  }
  if (error) return Status::from_errno(error.value(), "list " + dir);
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

std::vector<std::string> find_labels(std::string_view text, std::string_view label) {
  std::vector<std::string> values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(label) || line.size() <= label.size() || line[label.size()] != ':')
      continue;
    line.remove_prefix(label.size() + 1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t'))
      line.remove_prefix(1);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
      line.remove_suffix(1);
    values.emplace_back(line);
  }
  return values;
}

Result<std::string> read_text(const std::string& path, std::size_t limit) {
  std::string text;
  const Status status = read_plain_file(path, [&](const unsigned char* data, std::size_t bytes) {
    text.append(reinterpret_cast<const char*>(data), bytes);
    return text.size() <= limit;
  });
  if (!status.ok()) return status;
  if (text.size() > limit)
    return Status(Code::corruption, path + ": is longer than the " + std::to_string(limit) +
                                        " bytes that this program reads of such a file");
  return text;
}

} // namespace hitproof::schema::bag
