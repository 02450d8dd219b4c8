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
inline constexpr const char* declaration_text =
    "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n";
inline constexpr const char* version_label = "Hitproof-Archive-Format";
inline constexpr int archive_version = 1;

struct Line {
  Digest digest;
  std::string path; // relative to the bag, decoded
};

struct File {
  std::string path; // relative to the bag, with "data/"
  std::uint64_t bytes;
  bool regular; // not a link, socket, pipe or device
};

// RFC 8493, 2.1.3: line feed, carriage return and percent sign are percent-encoded.
std::string encode_path(std::string_view path);
// Errors: invalid_argument for a path that would lead out of the bag (absolute, "..", empty).
Result<std::string> decode_path(std::string_view path);

// "<64 hex digits> <blanks> <path>"; the message of an error says what is wrong.
Result<Line> parse_line(std::string_view line);

// Every file under `<dir>/data`, sorted by path; folders are walked, links are not followed.
Result<std::vector<File>> list_payload(const std::string& dir);

// Value of `label` in a bag-info or bagit text; empty where there is none.
std::string find_label(std::string_view text, std::string_view label);

// At most `limit` bytes of a file.
Result<std::string> read_text(const std::string& path, std::size_t limit = std::size_t{64} << 20);

} // namespace hitproof::schema::bag
