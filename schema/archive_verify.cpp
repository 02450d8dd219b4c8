// Verifying an archive: every file against the manifests, every manifest against the rules, and
// nothing there that no manifest names.
#include "schema/archive.h"
#include "schema/drain.h"
#include "schema/manifest.h"
#include "schema/plain_file.h"
#include "schema/recording.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

namespace hitproof::schema {
namespace fs = std::filesystem;

namespace {

using Kind = ArchiveProblemKind;
using bag::Manifest;

// Reports are for people; a folder of strangers' making may break every rule a hundred thousand
// times.
constexpr std::size_t max_problems = 1000;

class Verifier {
 public:
  explicit Verifier(const std::string& dir) : dir_(dir) {}

  Result<std::vector<ArchiveProblem>> run() {
    std::error_code error;
    if (!fs::is_directory(dir_, error)) return Status(Code::not_found, dir_ + ": no such folder");
    Result<std::vector<bag::File>> files = bag::list_files(dir_);
    if (!files.ok() && files.code() != Code::unsupported) return files.status();
    if (!files.ok())
      return std::vector<ArchiveProblem>{{Kind::added_file, "", files.status().message()}};
    files_ = std::move(files).value();
    closed_ = has(bag::tag_manifest) || (has_any_bag_file() && !has(bag::closing_marker));
    check_declaration();
    const Manifest tags = read_manifest(bag::tag_manifest);
    const Manifest payload = read_manifest(bag::manifest);
    check_names(tags, payload);
    check_digests(tags, bag::tag_manifest);
    check_digests(payload, bag::manifest);
    check_nothing_added(tags, payload);
    check_info();
    check_recordings();
    if (!closed_ && has_leftovers(dir_))
      add(Kind::leftover, "journal", "holds records that were never moved into the recording");
    if (!refused_.ok()) return refused_;
    std::stable_sort(problems_.begin(), problems_.end(),
                     [](const auto& a, const auto& b) { return a.file < b.file; });
    if (not_listed_ > 0)
      add_always(Kind::bad_manifest, "",
                 std::to_string(not_listed_) + " further problems are not listed");
    return std::move(problems_);
  }

 private:
  void add_always(Kind kind, const std::string& file, const std::string& message) {
    problems_.push_back({kind, file, message});
  }
  void add(Kind kind, const std::string& file, const std::string& message) {
    if (problems_.size() < max_problems)
      add_always(kind, file, message);
    else
      ++not_listed_;
  }

  // A file that cannot be read, of which a machine that lacks descriptors or memory says nothing.
  void add_unread(const std::string& file, const Status& why) {
    if (why.code() == Code::refused)
      refused_ = why;
    else
      add(Kind::unreadable, file, why.message());
  }

  const bag::File* find(const std::string& path) const {
    const auto at =
        std::lower_bound(files_.begin(), files_.end(), path,
                         [](const bag::File& f, const std::string& p) { return f.path < p; });
    return at != files_.end() && at->path == path ? &*at : nullptr;
  }
  bool has(const char* path) const { return find(path) != nullptr; }
  bool has_any_bag_file() const {
    return has(bag::declaration) || has(bag::info) || has(bag::manifest);
  }

  // A bag file's text; nothing where it cannot be had, which is then reported.
  Result<std::string> read_bag_file(const char* name, std::size_t limit) {
    Result<std::string> text = bag::read_text(dir_ + "/" + name, limit);
    if (text.ok()) return text;
    if (text.code() == Code::corruption)
      add(Kind::bad_manifest, name, text.status().message());
    else if (text.code() != Code::not_found)
      add_unread(name, text.status());
    else if (closed_)
      add(Kind::missing_file, name, "is missing from a closed archive");
    else
      add(Kind::not_closed, name,
          "is missing: the archive was never closed, or this file was lost");
    return text;
  }

  void check_declaration() {
    const Result<std::string> text = read_bag_file(bag::declaration, bag::max_info_bytes);
    if (!text.ok() || *text == bag::declaration_text) return;
    const auto versions = bag::find_labels(*text, "BagIt-Version");
    if (versions.empty())
      add(Kind::bad_manifest, bag::declaration, "does not declare a BagIt bag");
    else if (versions.front() != "1.0")
      add(Kind::newer_format, bag::declaration,
          "BagIt " + versions.front() + "; this program reads 1.0");
    else
      add(Kind::bad_manifest, bag::declaration, "is not as RFC 8493 wants it");
  }

  Manifest read_manifest(const char* name) {
    const Result<std::string> text = read_bag_file(name, bag::max_manifest_bytes);
    if (!text.ok()) return {};
    Manifest manifest = bag::parse_manifest(*text);
    for (const std::string& problem : manifest.problems)
      add(Kind::bad_manifest, name, problem);
    return manifest;
  }

  void check_names(const Manifest& tags, const Manifest& payload) {
    if (has(bag::tag_manifest))
      for (const char* name : {bag::declaration, bag::info, bag::manifest})
        if (tags.find(name) == nullptr)
          add(Kind::bad_manifest, bag::tag_manifest, std::string("does not name ") + name);
    for (const bag::Line& line : tags.lines) {
      if (bag::is_payload(line.path))
        add(Kind::bad_manifest, bag::tag_manifest, line.path + " is payload, not a tag file");
      // Each of these would make further claims about files, which nobody checks here.
      const bool list = line.path.starts_with("manifest-") || line.path.starts_with("tagmanifest-");
      if (line.path == "fetch.txt" || (list && line.path != bag::manifest))
        add(Kind::bad_manifest, bag::tag_manifest, line.path + " does not belong into an archive");
    }
    for (const bag::Line& line : payload.lines)
      if (!bag::is_payload(line.path))
        add(Kind::bad_manifest, bag::manifest, line.path + " does not lie under data/");
  }

  void check_digests(const Manifest& manifest, const char* name) {
    std::vector<const bag::Line*> lines;
    std::vector<std::string> paths;
    for (const bag::Line& line : manifest.lines) {
      const bag::File* file = find(line.path);
      if (file == nullptr) {
        add(Kind::missing_file, line.path, std::string("named by ") + name + ", but not there");
      } else if (!file->regular) {
        add(Kind::changed_file, line.path, "is not a plain file any more");
      } else {
        lines.push_back(&line);
        paths.push_back(dir_ + "/" + line.path);
      }
    }
    const auto digests = hash_plain_files(paths);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!digests[i].ok())
        add_unread(lines[i]->path, digests[i].status());
      else if (*digests[i] == lines[i]->digest)
        intact_.insert(lines[i]->path);
      else
        add(Kind::changed_file, lines[i]->path,
            "SHA-256 is " + to_hex(*digests[i]) + ", " + name + " says " +
                to_hex(lines[i]->digest) + ": one of the two files was changed");
    }
  }

  void check_nothing_added(const Manifest& tags, const Manifest& payload) {
    if (!closed_) return;
    for (const bag::File& file : files_) {
      if (file.path == bag::tag_manifest || (file.path == attestation_file && file.regular))
        continue;
      const bool inside = bag::is_payload(file.path);
      if ((inside ? payload : tags).find(file.path) == nullptr)
        add(Kind::added_file, file.path,
            std::string("named by no line of ") + (inside ? bag::manifest : bag::tag_manifest));
    }
  }

  // The one value of a label that may stand once; empty and reported otherwise.
  std::string single(const std::string& text, const char* label) {
    const auto values = bag::find_labels(text, label);
    if (values.size() == 1) return values.front();
    add(Kind::bad_manifest, bag::info,
        std::string("states ") + (values.empty() ? "no " : "more than one ") + label);
    return {};
  }

  void check_info() {
    if (!has(bag::info)) return; // the tag manifest misses it
    const Result<std::string> text = read_bag_file(bag::info, bag::max_info_bytes);
    if (!text.ok()) return;
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
    for (const bag::File& file : files_) {
      if (!bag::is_payload(file.path)) continue;
      bytes += file.bytes;
      ++count;
    }
    const std::string counted = std::to_string(bytes) + "." + std::to_string(count);
    const std::string oxum = single(*text, "Payload-Oxum");
    if (!oxum.empty() && oxum != counted)
      add(Kind::bad_count, bag::info,
          "Payload-Oxum is \"" + oxum + "\", but the payload has " + counted + " (bytes.files)");
    const std::string version = single(*text, bag::version_label);
    if (version.empty()) return;
    int number = 0;
    const auto [end, error] =
        std::from_chars(version.data(), version.data() + version.size(), number);
    if (error != std::errc() || end != version.data() + version.size() || number < 1)
      add(Kind::bad_manifest, bag::info, std::string(bag::version_label) + " is no number");
    else if (number > bag::archive_version)
      add(Kind::newer_format, bag::info,
          "archive format " + version + " is newer than this program reads (" +
              std::to_string(bag::archive_version) + "); use a newer hitproof");
  }

  void check_recordings() {
    for (const char* path : {"data/recording.sqlite", "data/reference/recording.sqlite"}) {
      // A database that is not the one that was hashed is reported already, and nobody's to open.
      if (!has(path) || (closed_ && !intact_.contains(path))) continue;
      // With a write-ahead log beside it SQLite would have to write to open it. A closed recording
      // has none, and one that was added is reported already.
      if (has((std::string(path) + "-wal").c_str())) continue;
      const Result<Recording> recording = Recording::open_file(dir_ + "/" + path);
      if (recording.ok()) continue;
      if (recording.code() == Code::newer_format)
        add(Kind::newer_format, path, recording.status().message());
      else
        add_unread(path, recording.status());
    }
  }

  std::string dir_;
  std::vector<bag::File> files_;
  bool closed_ = false;          // bag files were written: from then on nothing may change
  std::set<std::string> intact_; // files whose digest is the manifest's
  std::vector<ArchiveProblem> problems_;
  Status refused_; // the machine kept some file from being read
  std::size_t not_listed_ = 0;
};

} // namespace

Result<std::vector<ArchiveProblem>> verify_archive(const std::string& dir) {
  return Verifier(dir).run();
}

} // namespace hitproof::schema
