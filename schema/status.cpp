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
  }
  return "unknown";
}

Status Status::from_errno(int error, const std::string& what) {
  Code code = Code::io_error;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) code = Code::no_space;
  if (error == ENOENT) code = Code::not_found;
  return Status(code, what + ": " + std::strerror(error));
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
