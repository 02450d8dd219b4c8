#include "schema/status.h"

#include <cerrno>
#include <cstring>

namespace hitproof::schema {

const char* code_name(Code code) noexcept {
  switch (code) {
  case Code::ok:
    return "ok";
  case Code::not_found:
    return "not_found";
  case Code::invalid_argument:
    return "invalid_argument";
  case Code::corruption:
    return "corruption";
  case Code::newer_format:
    return "newer_format";
  case Code::io_error:
    return "io_error";
  case Code::no_space:
    return "no_space";
  case Code::busy:
    return "busy";
  case Code::incomplete:
    return "incomplete";
  case Code::unsupported:
    return "unsupported";
  case Code::refused:
    return "refused";
  }
  return "unknown";
}

namespace {

Code code_of(int error) noexcept {
  switch (error) {
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
    return Code::no_space;
  case ENOENT:
    return Code::not_found;
  case EMFILE:
  case ENFILE:
  case ENOMEM:
  case EAGAIN:
  case EACCES:
  case EPERM:
  case EROFS:
    return Code::refused;
  default:
    return Code::io_error;
  }
}

// Whose limit was met: the system's words for these do not say what to raise.
const char* limit_of(int error) noexcept {
  switch (error) {
  case EFBIG:
    return " (the limit on file sizes, ulimit -f)";
  case EMFILE:
    return " (the limit on open files, ulimit -n)";
  case EAGAIN: // of a thread or a process; nothing here asks a file without waiting
    return " (the limit on processes, ulimit -u)";
  default:
    return "";
  }
}

} // namespace

Status Status::from_errno(int error, const std::string& what) {
  return Status(code_of(error), what + ": " + std::strerror(error) + limit_of(error));
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  return std::string(code_name(code_)) + ": " + message_;
}

Status Status::with_context(const std::string& what) && {
  if (ok()) return {};
  return Status(code_, what + ": " + message_);
}

} // namespace hitproof::schema
