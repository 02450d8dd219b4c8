// Verifying an archive: every file against the manifests, every manifest against the rules.
#include "schema/archive.h"
#include "schema/bag.h"
#include "schema/drain.h"
#include "schema/recording.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

namespace hitproof::schema {
namespace fs = std::filesystem;

namespace {

using Kind = ArchiveProblemKind;
using Manifest = std::map<std::string, Digest>;

class Verifier {
 public:
  explicit Verifier(const std::string& dir) : dir_(dir) {}

  Result<std::vector<ArchiveProblem>> run() {
    std::error_code error;
    if (!fs::is_directory(dir_, error)) return Status(Code::not_found, dir_ + ": no such folder");
    check_declaration();
    const Manifest tags = read_manifest(bag::tag_manifest);
    const Manifest payload = read_manifest(bag::manifest);
    check_tags(tags);
    check_payload(payload);
    check_recordings();
    if (has_leftovers(dir_))
      add(Kind::leftover, "journal", "holds records that were never moved into the recording");
    std::stable_sort(problems_.begin(), problems_.end(),
                     [](const auto& a, const auto& b) { return a.file < b.file; });
    return std::move(problems_);
  }

 private:
  void add(Kind kind, const std::string& file, const std::string& message) {
    problems_.push_back({kind, file, message});
  }

  void check_declaration() {
    const Result<std::string> text = bag::read_text(dir_ + "/" + bag::declaration);
    if (!text.ok()) {
      add(Kind::not_closed, bag::declaration,
          "the archive was never closed, or this file was lost");
      return;
    }
    if (*text == bag::declaration_text) return;
    const std::string version = bag::find_label(*text, "BagIt-Version");
    if (version.empty())
      add(Kind::bad_manifest, bag::declaration, "does not declare a BagIt bag");
    else if (version != "1.0")
      add(Kind::newer_format, bag::declaration, "BagIt " + version + "; this program reads 1.0");
    else
      add(Kind::bad_manifest, bag::declaration, "is not as RFC 8493 wants it");
  }

  Manifest read_manifest(const char* name) {
    Manifest manifest;
    const Result<std::string> text = bag::read_text(dir_ + "/" + name);
    if (!text.ok()) {
      const bool missing = text.code() == Code::not_found;
      add(missing ? Kind::not_closed : Kind::unreadable, name,
          missing ? "is missing: the archive was never closed, or this file was lost"
                  : text.status().message());
      return manifest;
    }
    std::size_t number = 0;
    std::string_view rest = *text;
    while (!rest.empty()) {
      ++number;
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      Result<bag::Line> parsed = bag::parse_line(line);
      const std::string where = "line " + std::to_string(number) + ": ";
      if (!parsed.ok())
        add(Kind::bad_manifest, name, where + parsed.status().message());
      else if (!manifest.emplace(parsed->path, parsed->digest).second)
        add(Kind::bad_manifest, name, where + parsed->path + " is named twice");
    }
    return manifest;
  }

  void check_digest(const std::string& path, const Digest& expected, const char* manifest) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(dir_ + "/" + path, error);
    if (!fs::exists(status)) {
      add(Kind::missing_file, path, std::string("named by ") + manifest + ", but not there");
      return;
    }
    if (!fs::is_regular_file(status)) {
      add(Kind::changed_file, path, "is not a plain file any more");
      return;
    }
    const Result<Digest> found = sha256_file(dir_ + "/" + path);
    if (!found.ok()) {
      add(Kind::unreadable, path, found.status().message());
      return;
    }
    if (*found != expected)
      add(Kind::changed_file, path,
          "SHA-256 is " + to_hex(*found) + ", " + manifest + " says " + to_hex(expected));
  }

  void check_tags(const Manifest& tags) {
    std::error_code error;
    if (!fs::exists(dir_ + "/" + bag::tag_manifest, error)) return; // said already
    for (const char* name : {bag::declaration, bag::info, bag::manifest})
      if (!tags.contains(name))
        add(Kind::bad_manifest, bag::tag_manifest, std::string("does not name ") + name);
    for (const auto& [path, digest] : tags) {
      if (path.starts_with("data/"))
        add(Kind::bad_manifest, bag::tag_manifest, path + " is payload, not a tag file");
      check_digest(path, digest, bag::tag_manifest);
    }
  }

  void check_payload(const Manifest& payload) {
    for (const auto& [path, digest] : payload) {
      if (!path.starts_with("data/"))
        add(Kind::bad_manifest, bag::manifest, path + " does not lie under data/");
      check_digest(path, digest, bag::manifest);
    }
    const Result<std::vector<bag::File>> files = bag::list_payload(dir_);
    if (!files.ok()) {
      add(files.code() == Code::not_found ? Kind::missing_file : Kind::unreadable, "data",
          files.status().message());
      return;
    }
    std::uint64_t bytes = 0;
    std::error_code error;
    const bool closed = fs::exists(dir_ + "/" + bag::manifest, error);
    for (const bag::File& file : *files) {
      bytes += file.bytes;
      if (closed && !payload.contains(file.path))
        add(Kind::added_file, file.path, std::string("named by no line of ") + bag::manifest);
    }
    check_info(bytes, files->size());
  }

  void check_info(std::uint64_t bytes, std::uint64_t files) {
    const Result<std::string> text = bag::read_text(dir_ + "/" + bag::info);
    if (!text.ok()) return; // the tag manifest misses it
    const std::string counted = std::to_string(bytes) + "." + std::to_string(files);
    const std::string oxum = bag::find_label(*text, "Payload-Oxum");
    if (oxum != counted)
      add(Kind::bad_count, bag::info,
          "Payload-Oxum is \"" + oxum + "\", but the payload has " + counted + " (bytes.files)");
    const std::string version = bag::find_label(*text, bag::version_label);
    int number = 0;
    const auto [end, error] =
        std::from_chars(version.data(), version.data() + version.size(), number);
    if (error != std::errc() || number < 1)
      add(Kind::bad_manifest, bag::info, std::string("states no ") + bag::version_label);
    else if (number > bag::archive_version)
      add(Kind::newer_format, bag::info,
          "archive format " + version + " is newer than this program reads (" +
              std::to_string(bag::archive_version) + "); use a newer hitproof");
  }

  void check_recordings() {
    std::error_code error;
    for (const std::string path : {"data/recording.sqlite", "data/reference/recording.sqlite"}) {
      if (!fs::exists(dir_ + "/" + path, error)) continue;
      // With a write-ahead log beside it SQLite would have to write to open it. A closed recording
      // has none, and one that was added is reported already.
      if (fs::exists(dir_ + "/" + path + "-wal", error)) continue;
      const Result<Recording> recording = Recording::open_file(dir_ + "/" + path);
      if (recording.code() == Code::newer_format)
        add(Kind::newer_format, path, recording.status().message());
      else if (!recording.ok())
        add(Kind::unreadable, path, recording.status().message());
    }
  }

  std::string dir_;
  std::vector<ArchiveProblem> problems_;
};

} // namespace

Result<std::vector<ArchiveProblem>> verify_archive(const std::string& dir) {
  return Verifier(dir).run();
}

} // namespace hitproof::schema
