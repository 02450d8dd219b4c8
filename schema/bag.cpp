#include "schema/bag.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

namespace hitproof::schema::bag {
namespace fs = std::filesystem;

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
    const std::string_view code = path.substr(i, 3);
    if (code == "%0A" || code == "%0a")
      text += '\n';
    else if (code == "%0D" || code == "%0d")
      text += '\r';
    else if (code == "%25")
      text += '%';
    else {
      text += path[i];
      continue;
    }
    i += 2;
  }
  const fs::path parsed(text);
  bool inside = !text.empty() && parsed.is_relative() && text.find('\0') == std::string::npos;
  for (const fs::path& part : parsed)
    inside = inside && part != ".." && part != "~";
  if (!inside) return Status(Code::invalid_argument, "the path leads out of the archive");
  return text;
}

Result<Line> parse_line(std::string_view line) {
  const std::size_t hex_end = line.find_first_of(" \t");
  if (hex_end == std::string_view::npos)
    return Status(Code::invalid_argument, "no blank between digest and path");
  Result<Digest> digest = digest_from_hex(line.substr(0, hex_end));
  if (!digest.ok()) return digest.status();
  const std::size_t path_begin = line.find_first_not_of(" \t", hex_end);
  if (path_begin == std::string_view::npos) return Status(Code::invalid_argument, "no path");
  Result<std::string> path = decode_path(line.substr(path_begin));
  if (!path.ok()) return path.status();
  return Line{*digest, *path};
}

Result<std::vector<File>> list_payload(const std::string& dir) {
  std::vector<File> files;
  std::error_code error;
  const fs::path root(dir);
  fs::recursive_directory_iterator it(root / "data", error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const fs::file_status kind = it->symlink_status(error);
    if (error) break;
    if (fs::is_directory(kind)) continue;
    const bool regular = fs::is_regular_file(kind);
    const std::uint64_t bytes = regular ? it->file_size(error) : 0;
    if (error) break;
    files.push_back({it->path().lexically_relative(root).generic_string(), bytes, regular});
  }
  if (error) return Status::from_errno(error.value(), "list " + dir + "/data");
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

std::string find_label(std::string_view text, std::string_view label) {
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
    return std::string(line);
  }
  return {};
}

Result<std::string> read_text(const std::string& path, std::size_t limit) {
  std::error_code error;
  const auto status = fs::symlink_status(path, error);
  if (!fs::exists(status)) return Status(Code::not_found, path + ": not there");
  if (!fs::is_regular_file(status)) return Status(Code::io_error, path + ": not a plain file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status::from_errno(errno, "open " + path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return Status(Code::io_error, "read " + path);
  if (text.size() > limit) return Status(Code::corruption, path + ": far too long");
  return text;
}

} // namespace hitproof::schema::bag
