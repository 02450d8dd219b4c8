// The parts of a BagIt bag (RFC 8493) that writing and verifying share. Internal to the archive.
#pragma once

#include "schema/sha256.h"
#include "schema/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hitproof::schema::bag {

inline constexpr const char* declaration = "bagit.txt";
inline constexpr const char* info = "bag-info.txt";
inline constexpr const char* manifest = "manifest-sha256.txt";
inline constexpr const char* tag_manifest = "tagmanifest-sha256.txt";
// There while the bag files are written: a close that was cut off leaves it.
inline constexpr const char* closing_marker = "tagmanifest-sha256.txt.new";
inline constexpr const char* declaration_text =
    "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n";
inline constexpr const char* version_label = "Hitproof-Archive-Format";
inline constexpr int archive_version = 1;

// What an archive may have at most; more is refused, so that reading one takes bounded memory.
inline constexpr std::size_t max_files = 100'000;
inline constexpr std::size_t max_manifest_bytes = std::size_t{32} << 20;
inline constexpr std::size_t max_info_bytes = std::size_t{1} << 20;
inline constexpr std::size_t max_path_bytes = 1024;

struct Line {
  Digest digest;
  std::string path; // relative to the bag, decoded
};

struct File {
  std::string path; // relative to the bag
  std::uint64_t bytes;
  bool regular; // not a link, socket, pipe or device
};

// Whether every tool reads `path` alike: printable ASCII without '%' and '\', no part empty, "." or
// "..", none that begins or ends with a blank, at most max_path_bytes. invalid_argument says what
// is wrong. A file of another name cannot be archived.
Status check_portable(std::string_view path);

// RFC 8493, 2.1.3: line feed, carriage return and percent sign are percent-encoded.
std::string encode_path(std::string_view path);
// Errors: invalid_argument for a path that would lead out of the bag, that can be spelled in
// another way (a part "." or "", another use of '%'), or that is not ASCII and so may have a twin.
Result<std::string> decode_path(std::string_view path);

// Exactly "<64 lower-case hex digits>  <path>"; the message of an error says what is wrong.
Result<Line> parse_line(std::string_view line);
std::string write_lines(const std::vector<Line>& lines);

// Every file below `dir`, sorted by path; folders are walked, links are not followed. Errors:
// io_error, not_found, unsupported (more than max_files).
Result<std::vector<File>> list_files(const std::string& dir);
bool is_payload(std::string_view path); // below data/

// Values of every line `label` in a bag-info or bagit text.
std::vector<std::string> find_labels(std::string_view text, std::string_view label);

// A file of at most `limit` bytes. Errors: not_found, io_error (a link or special file among them),
// corruption where it is longer.
Result<std::string> read_text(const std::string& path, std::size_t limit);

} // namespace hitproof::schema::bag
