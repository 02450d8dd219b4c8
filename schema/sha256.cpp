// The SHA256_* functions are deprecated in favour of EVP, which allocates and takes locks: neither
// may happen inside a hook. They stay for as long as OpenSSL 3 lives.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "schema/sha256.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <memory>
#include <new>
#include <openssl/sha.h>
#include <unistd.h>

namespace hitproof::schema {

static_assert(sizeof(SHA256_CTX) <= 112 && alignof(SHA256_CTX) <= 8);

namespace {
SHA256_CTX* context(unsigned char* bytes) noexcept {
  return std::launder(reinterpret_cast<SHA256_CTX*>(bytes));
}
} // namespace

Sha256::Sha256() noexcept { SHA256_Init(::new (context_) SHA256_CTX); }

Sha256& Sha256::update(const void* data, std::size_t bytes) noexcept {
  SHA256_Update(context(context_), data, bytes);
  return *this;
}

Digest Sha256::finish() noexcept {
  Digest digest;
  SHA256_Final(digest.data(), context(context_));
  SHA256_Init(context(context_));
  return digest;
}

Digest sha256(const void* data, std::size_t bytes) noexcept {
  SHA256_CTX hash;
  Digest digest;
  SHA256_Init(&hash);
  SHA256_Update(&hash, data, bytes);
  SHA256_Final(digest.data(), &hash);
  return digest;
}

Digest sha256(std::string_view text) noexcept { return sha256(text.data(), text.size()); }

Result<Digest> sha256_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status::from_errno(errno, "open " + path);
  constexpr std::size_t block = 1u << 18;
  const auto buffer = std::make_unique<unsigned char[]>(block);
  Sha256 hash;
  for (;;) {
    const ssize_t n = ::read(fd, buffer.get(), block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      ::close(fd);
      return Status::from_errno(error, "read " + path);
    }
    if (n == 0) break;
    hash.update(buffer.get(), static_cast<std::size_t>(n));
  }
  ::close(fd);
  return hash.finish();
}

std::string to_hex(const Digest& digest) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (const std::uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

Result<Digest> digest_from_hex(std::string_view hex) {
  const auto value = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  const Status bad(Code::invalid_argument, "a SHA-256 is 64 hexadecimal characters");
  if (hex.size() != 64) return bad;
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = value(hex[2 * i]);
    const int low = value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return bad;
    digest[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return digest;
}

bool is_zero(const Digest& digest) noexcept { return digest == Digest{}; }

} // namespace hitproof::schema
