// Writing an archive's bag files; archive_verify.cpp reads them.
#include "schema/archive.h"

#include "schema/bag.h"
#include "schema/drain.h"

#include <cerrno>
#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

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

// Appears whole or not at all, and is on the disk when the next one is begun: a bag whose last file
// is there is complete.
Status write_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return Status::from_errno(errno, "create " + fresh);
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      ::close(fd);
      ::unlink(fresh.c_str());
      return Status::from_errno(error, "write " + fresh);
    }
    at += static_cast<std::size_t>(n);
  }
  const bool synced = ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  if (!synced) return Status::from_errno(error, "sync " + fresh);
  if (::rename(fresh.c_str(), path.c_str()) != 0)
    return Status::from_errno(errno, "rename " + fresh);
  return {};
}

std::string manifest_text(const std::vector<bag::Line>& lines) {
  std::string text;
  for (const bag::Line& line : lines)
    text += to_hex(line.digest) + "  " + bag::encode_path(line.path) + "\n";
  return text;
}

Result<std::vector<bag::Line>> hash_payload(const std::string& dir, ArchiveInfo* info) {
  Result<std::vector<bag::File>> files = bag::list_payload(dir);
  if (!files.ok()) return files.status();
  std::vector<bag::Line> lines;
  for (const bag::File& file : *files) {
    if (!file.regular)
      return Status(Code::invalid_argument, dir + "/" + file.path +
                                                ": not a plain file; an archive holds no links or "
                                                "special files");
    Result<Digest> digest = sha256_file(dir + "/" + file.path);
    if (!digest.ok()) return digest.status();
    lines.push_back({*digest, file.path});
    ++info->files;
    info->bytes += file.bytes;
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

  // Without this file the bag counts as not closed while the others are rewritten.
  fs::remove(dir + "/" + bag::tag_manifest, error);
  ArchiveInfo info;
  Result<std::vector<bag::Line>> payload = hash_payload(dir, &info);
  if (!payload.ok()) return payload.status();

  std::string bag_info = "Bagging-Date: " + today() +
                         "\nPayload-Oxum: " + std::to_string(info.bytes) + "." +
                         std::to_string(info.files) + "\nBag-Software-Agent: hitproof\n" +
                         bag::version_label + ": " + std::to_string(bag::archive_version) + "\n";
  for (const auto& [label, value] : facts)
    bag_info += label + ": " + one_line(value) + "\n";

  Status status = write_file(dir + "/" + bag::declaration, bag::declaration_text);
  if (status.ok()) status = write_file(dir + "/" + bag::info, bag_info);
  if (status.ok()) status = write_file(dir + "/" + bag::manifest, manifest_text(*payload));
  std::vector<bag::Line> tags;
  for (const char* name : {bag::info, bag::declaration, bag::manifest}) {
    if (!status.ok()) return status;
    Result<Digest> digest = sha256_file(dir + "/" + name);
    if (!digest.ok()) return digest.status();
    tags.push_back({*digest, name});
  }
  status = write_file(dir + "/" + bag::tag_manifest, manifest_text(tags));
  if (!status.ok()) return status;
  return info;
}

bool is_archive(const std::string& dir) {
  std::error_code error;
  return fs::is_regular_file(dir + "/" + bag::declaration, error);
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
  }
  return "unknown";
}

} // namespace hitproof::schema
