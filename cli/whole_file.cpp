#include "cli/whole_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace hitproof::cli {

WholeFile::Buffer::Buffer(const std::string& path)
    : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
      error_(fd_ < 0 ? errno : 0), bytes_(1 << 16) {
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

int WholeFile::Buffer::close() {
  if (fd_ < 0) return error_;
  sync();
  // Some file systems say only now that the disk is full.
  if (::close(fd_) != 0 && error_ == 0) error_ = errno;
  fd_ = -1;
  return error_;
}

WholeFile::WholeFile(std::string path)
    : path_(std::move(path)), part_(path_ + ".part"), buffer_(part_), stream_(&buffer_) {
  if (buffer_.open_error() != 0) stream_.setstate(std::ios::badbit);
}

WholeFile::~WholeFile() {
  if (!kept_) ::unlink(part_.c_str());
}

schema::Status WholeFile::keep() {
  if (const int error = buffer_.close(); error != 0)
    return schema::Status::from_errno(error, "write " + path_);
  if (std::rename(part_.c_str(), path_.c_str()) != 0)
    return schema::Status::from_errno(errno, "put " + path_ + " into its place");
  kept_ = true;
  return {};
}

} // namespace hitproof::cli
