#include "cli/whole_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace hitproof::cli {

WholeFile::Buffer::Buffer(const std::string& part) : bytes_(1 << 16) {
  const std::string folder = part.substr(0, part.rfind('/') + 1);
  // Without a name nothing is left behind however the program ends, and two programs at once do not
  // write into one file. Not every file system has such files.
  fd_ = ::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  named_ = fd_ < 0;
  if (named_) fd_ = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) error_ = errno;
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

WholeFile::Buffer::~Buffer() { close(); }

int WholeFile::Buffer::sync() {
  const char* at = pbase();
  while (at < pptr() && error_ == 0) {
    const ssize_t n = ::write(fd_, at, static_cast<std::size_t>(pptr() - at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error_ = errno;
    if (n > 0) at += n;
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return error_ == 0 ? 0 : -1;
}

WholeFile::Buffer::int_type WholeFile::Buffer::overflow(int_type c) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
  return traits_type::not_eof(c);
}

void WholeFile::Buffer::give_name(const std::string& part) {
  if (named_ || fd_ < 0) return;
  if (sync() != 0) return;
  const std::string self = "/proc/self/fd/" + std::to_string(fd_);
  ::unlink(part.c_str()); // of a program that was killed between naming it and its place
  named_ = ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, part.c_str(), AT_SYMLINK_FOLLOW) == 0;
  if (!named_) error_ = errno;
}

int WholeFile::Buffer::close() {
  if (fd_ < 0) return error_;
  sync();
  // Some file systems say only now that the disk is full.
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

schema::Status WholeFile::keep() {
  buffer_.give_name(part_);
  if (const int error = buffer_.close(); error != 0)
    return schema::Status::from_errno(error, "write " + path_);
  if (std::rename(part_.c_str(), path_.c_str()) != 0)
    return schema::Status::from_errno(errno, "put " + path_ + " into its place");
  kept_ = true;
  return {};
}

} // namespace hitproof::cli
