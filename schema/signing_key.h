// Ed25519 keys (RFC 8032) through OpenSSL: made, kept as PEM files, used.
#pragma once

#include "schema/sha256.h"
#include "schema/status.h"

#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace hitproof::schema {

class SigningKey {
 public:
  static Result<SigningKey> generate();
  // A private key (PKCS#8) or a public one (SPKI), as PEM without a passphrase. Errors: not_found,
  // io_error, invalid_argument (another kind of key, encrypted, no key).
  static Result<SigningKey> read_private(const std::string& path);
  static Result<SigningKey> read_public(const std::string& path);

  // Writes the private key to `path` (mode 0600) and the public one to `path`.pub. Errors:
  // invalid_argument where one of them exists, no_space, io_error.
  Status write_pair(const std::string& path) const;

  // Lower-case hex SHA-256 of the public key's SPKI encoding (DER).
  std::string id() const;
  // 64 bytes. Needs a private key.
  Result<std::string> sign(std::string_view message) const;
  bool verifies(std::string_view message, std::string_view signature) const;

 private:
  explicit SigningKey(evp_pkey_st* key);
  std::shared_ptr<evp_pkey_st> key_;
};

} // namespace hitproof::schema
