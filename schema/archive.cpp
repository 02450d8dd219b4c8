// Writing an archive's bag files; archive_verify.cpp reads them.
#include "schema/archive.h"

#include "schema/drain.h"
#include "schema/manifest.h"
#include "schema/plain_file.h"
#include "schema/ro_crate.h"
#include "schema/whole_file.h"

#include <chrono>
#include <ctime>
#include <filesystem>

namespace hitproof::schema {
namespace fs = std::filesystem;

namespace {

std::string today() {
  const std::time_t t = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&t, &utc);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

// The file's name until the close puts it into its place.
std::string fresh(const std::string& path) { return path + ".new"; }

using TagFiles = std::vector<std::pair<std::string, std::string>>; // name, text; ascending

// The last one is the tag manifest, whose fresh copy tells a reader that the close was cut off.
Status write_tag_files(const std::string& dir, TagFiles files) {
  std::vector<bag::Line> lines;
  for (const auto& [name, text] : files)
    lines.push_back({sha256(text), name});
  files.emplace_back(bag::tag_manifest, bag::write_lines(lines));
  Status status;
  for (const auto& [name, text] : files)
    if (status.ok()) status = write_synced(fresh(dir + "/" + name), text);
  for (const auto& [name, text] : files)
    if (status.ok()) status = put_into_place(fresh(dir + "/" + name), dir + "/" + name);
  return status;
}

Status check_payload_file(const std::string& dir, const bag::File& file) {
  const std::string where = dir + "/" + file.path + ": ";
  if (!file.regular)
    return Status(Code::invalid_argument,
                  where + "not a plain file; an archive holds no links or special files");
  Status named = bag::check_portable(file.path);
  if (!named.ok())
    return Status(Code::invalid_argument,
                  where + named.message() + "; rename it, then close again");
  return {};
}

// With "data/" before each path.
Result<std::vector<bag::File>> list_payload(const std::string& dir) {
  Result<std::vector<bag::File>> files = bag::list_files(dir + "/data");
  if (files.ok())
    for (bag::File& file : *files)
      file.path.insert(0, "data/");
  return files;
}

Result<std::vector<bag::Line>>
hash_payload(const std::string& dir, const std::vector<bag::File>& files, ArchiveInfo* info) {
  std::vector<std::string> paths;
  for (const bag::File& file : files) {
    if (Status status = check_payload_file(dir, file); !status.ok()) return status;
    paths.push_back(dir + "/" + file.path);
    ++info->files;
    info->bytes += file.bytes;
  }
  const auto digests = hash_plain_files(paths);
  std::vector<bag::Line> lines;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!digests[i].ok()) return digests[i].status();
    lines.push_back({*digests[i], files[i].path});
  }
  return lines;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

} // namespace

Result<ArchiveInfo> close_archive(const std::string& dir,
                                  const std::vector<std::pair<std::string, std::string>>& facts) {
  std::error_code error;
  if (!fs::is_directory(dir + "/data", error))
    return Status(Code::not_found, dir + "/data: no payload to archive");
  if (has_leftovers(dir))
    return Status(Code::incomplete, dir + "/journal still holds records that are not in the "
                                          "recording; drain them before closing");
  fs::remove_all(dir + "/journal", error);

  // From here until the tag manifest is renamed the bag counts as not closed.
  const std::string tag_manifest = dir + "/" + bag::tag_manifest;
  if (Status status = write_synced(fresh(tag_manifest), ""); !status.ok()) return status;
  fs::remove(tag_manifest, error);
  ArchiveInfo info;
  const Result<std::vector<bag::File>> files = list_payload(dir);
  if (!files.ok()) return files.status();
  Result<std::vector<bag::Line>> payload = hash_payload(dir, *files, &info);
  if (!payload.ok()) return payload.status();
  const std::string manifest = bag::write_lines(*payload);
  // What a reader would refuse is not written.
  if (manifest.size() > bag::max_manifest_bytes)
    return Status(Code::unsupported,
                  dir + ": the names of the payload's files are too long together");
  if (const auto problems = bag::parse_manifest(manifest).problems; !problems.empty())
    return Status(Code::invalid_argument, dir + ": the payload cannot be archived: " + problems[0]);

  std::string bag_info = "Bagging-Date: " + today() +
                         "\nPayload-Oxum: " + std::to_string(info.bytes) + "." +
                         std::to_string(info.files) + "\nBag-Software-Agent: hitproof\n" +
                         bag::version_label + ": " + std::to_string(bag::archive_version) + "\n";
  for (const auto& [label, value] : facts)
    bag_info += label + ": " + one_line(value) + "\n";
  Status status =
      write_tag_files(dir, {{bag::info, bag_info},
                            {bag::declaration, bag::declaration_text},
                            {bag::manifest, manifest},
                            {bag::ro_crate, bag::ro_crate_text(*files, today(), facts)}});
  if (!status.ok()) return status;
  return info;
}

bool is_archive(const std::string& dir) {
  std::error_code error;
  return fs::is_regular_file(dir + "/" + bag::declaration, error);
}

bool is_damage(ArchiveProblemKind kind) noexcept {
  return kind != ArchiveProblemKind::not_closed && kind != ArchiveProblemKind::leftover;
}

const char* archive_problem_name(ArchiveProblemKind kind) noexcept {
  switch (kind) {
  case ArchiveProblemKind::not_closed:
    return "not_closed";
  case ArchiveProblemKind::missing_file:
    return "missing_file";
  case ArchiveProblemKind::added_file:
    return "added_file";
  case ArchiveProblemKind::changed_file:
    return "changed_file";
  case ArchiveProblemKind::bad_manifest:
    return "bad_manifest";
  case ArchiveProblemKind::bad_count:
    return "bad_count";
  case ArchiveProblemKind::newer_format:
    return "newer_format";
  case ArchiveProblemKind::unreadable:
    return "unreadable";
  case ArchiveProblemKind::leftover:
    return "leftover";
  case ArchiveProblemKind::bad_attestation:
    return "bad_attestation";
  }
  return "unknown";
}

} // namespace hitproof::schema
