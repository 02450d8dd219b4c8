// The result of an operation that can fail: a code a program can act on and a message a person can
// act on (what failed, on what, and the remedy where there is one). Modelled on LevelDB's idea of
// one small error type; values cross room borders, exceptions do not.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace hitproof::schema {

enum class Code {
  ok,
  not_found,        // a file, directory, key or table that should be there is not
  invalid_argument, // the caller or the user gave something that cannot be meant
  corruption,       // bytes that cannot have been written by us, or were changed since
  newer_format,     // written by a newer version than this program reads
  io_error,         // the operating system refused
  no_space,         // disk, quota or file-size limit is full
  busy,             // somebody else holds it
  incomplete,       // readable, but not closed: evidence may be missing
  unsupported,      // not on this machine
  refused,          // for want of descriptors, memory or permission: nothing is known of the bytes
};

// The code's name as it appears in messages and JSON ("not_found").
const char* code_name(Code code) noexcept;

class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status ok_status() noexcept { return {}; }
  // From errno `error` while doing `what` ("open /a/b"): ENOSPC, EDQUOT and EFBIG become no_space,
  // ENOENT not_found, what a machine or its owner denies (EMFILE, ENFILE, ENOMEM, EAGAIN, EACCES,
  // EPERM, EROFS) refused, everything else io_error.
  static Status from_errno(int error, const std::string& what);

  bool ok() const noexcept { return code_ == Code::ok; }
  Code code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  // "ok" or "<code>: <message>".
  std::string to_string() const;
  // Puts "what: " before the message; does nothing to an ok status.
  Status with_context(const std::string& what) &&;

 private:
  Code code_ = Code::ok;
  std::string message_;
};

// A value or the reason why there is none.
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}        // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) { // NOLINT: implicit on purpose
    if (status_.ok()) status_ = Status(Code::invalid_argument, "a result without value");
  }

  bool ok() const noexcept { return value_.has_value(); }
  const Status& status() const noexcept { return status_; }
  Code code() const noexcept { return status_.code(); }
  // Precondition of the accessors: ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  // Of a temporary by value, so that `for (auto& x : *f())` keeps what it walks over.
  T value() && { return std::move(*value_); }
  T operator*() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

} // namespace hitproof::schema
