#include "schema/whole_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace hitproof::schema {
namespace {

int open_new(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

// 0 or errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// 0 or errno. A file system that has no way to sync (EINVAL) has done what it can.
int sync_fd(int fd) { return ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno; }

void sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

} // namespace

Status write_synced(const std::string& path, std::string_view text) {
  const int fd = open_new(path);
  if (fd < 0) return Status::from_errno(errno, "create " + path);
  return write_synced(fd, text, path);
}

Status write_synced(int fd, std::string_view text, const std::string& path) {
  const int written = write_all(fd, text);
  const int synced = written == 0 ? sync_fd(fd) : 0;
  // Some file systems say only now that the disk is full.
  const int closed = ::close(fd) == 0 ? 0 : errno;
  if (written != 0) return Status::from_errno(written, "write " + path);
  if (synced != 0) return Status::from_errno(synced, "sync " + path);
  return closed == 0 ? Status() : Status::from_errno(closed, "write " + path);
}

Status put_into_place(const std::string& from, const std::string& path) {
  if (std::rename(from.c_str(), path.c_str()) != 0)
    return Status::from_errno(errno, "put " + path + " into its place");
  sync_folder_of(path);
  return {};
}

Status write_whole(const std::string& path, std::string_view text) {
  WholeFile file(path);
  file.stream().write(text.data(), static_cast<std::streamsize>(text.size()));
  return file.keep();
}

WholeFile::Buffer::Buffer(const std::string& part) : bytes_(1 << 16) {
  const std::string folder = part.substr(0, part.rfind('/') + 1);
  // Without a name nothing is left behind however the program ends. Not every file system has such
  // files.
  fd_ = ::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  named_ = fd_ < 0;
  if (named_) fd_ = open_new(part);
  if (fd_ < 0) error_ = errno;
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

WholeFile::Buffer::~Buffer() {
  if (fd_ >= 0) ::close(fd_);
}

int WholeFile::Buffer::sync() {
  if (error_ == 0) error_ = write_all(fd_, {pbase(), static_cast<std::size_t>(pptr() - pbase())});
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return error_ == 0 ? 0 : -1;
}

WholeFile::Buffer::int_type WholeFile::Buffer::overflow(int_type c) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
  return traits_type::not_eof(c);
}

int WholeFile::Buffer::close(const std::string& part) {
  if (fd_ < 0) return error_;
  sync();
  if (error_ == 0) error_ = sync_fd(fd_);
  if (error_ == 0 && !named_) {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_);
    ::unlink(part.c_str()); // of a program that was killed between naming it and its place
    named_ = ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, part.c_str(), AT_SYMLINK_FOLLOW) == 0;
    if (!named_) error_ = errno;
  }
  if (::close(fd_) != 0 && error_ == 0) error_ = errno;
  fd_ = -1;
  return error_;
}

WholeFile::WholeFile(std::string path)
    : path_(std::move(path)), part_(path_ + "." + std::to_string(::getpid()) + ".part"),
      buffer_(part_), stream_(&buffer_) {
  if (buffer_.open_error() != 0) stream_.setstate(std::ios::badbit);
}

WholeFile::~WholeFile() {
  if (!kept_ && buffer_.named()) ::unlink(part_.c_str());
}

Status WholeFile::keep() {
  if (const int error = buffer_.close(part_); error != 0)
    return Status::from_errno(error, "write " + path_);
  Status status = put_into_place(part_, path_);
  kept_ = status.ok();
  return status;
}

} // namespace hitproof::schema
