#include "schema/signing_key.h"

#include "schema/whole_file.h"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <unistd.h>

namespace hitproof::schema {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

constexpr std::size_t signature_bytes = 64;
constexpr std::size_t longest_file = 16 << 10;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// OpenSSL would ask the terminal for a passphrase.
int no_passphrase(char*, int, int, void*) { return -1; }

std::string text_of(BIO* bio) {
  const char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

Status write_new(const std::string& path, const std::string& text, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0 && errno == EEXIST)
    return Status(Code::invalid_argument, path + " exists; a key is never overwritten");
  if (fd < 0) return Status::from_errno(errno, "create " + path);
  Status status = write_synced(fd, text, path);
  if (!status.ok()) ::unlink(path.c_str());
  return status;
}

template <class Read>
Result<EVP_PKEY*> read_pem(const std::string& path, const char* kind, Read read) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status::from_errno(errno, "open the key " + path);
  std::string text(longest_file, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(file.gcount())), BIO_free);
  EVP_PKEY* key = read(bio.get());
  ERR_clear_error();
  if (key != nullptr && EVP_PKEY_id(key) == EVP_PKEY_ED25519) return key;
  EVP_PKEY_free(key);
  return Status(Code::invalid_argument,
                path + ": no " + kind + " Ed25519 key in PEM without a passphrase");
}

} // namespace

SigningKey::SigningKey(evp_pkey_st* key) : key_(key, EVP_PKEY_free) {}

Result<SigningKey> SigningKey::generate() {
  EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  if (key == nullptr) return Status(Code::unsupported, "OpenSSL cannot make an Ed25519 key here");
  return SigningKey(key);
}

Result<SigningKey> SigningKey::read_private(const std::string& path) {
  const auto key = read_pem(path, "private", [](BIO* bio) {
    return PEM_read_bio_PrivateKey(bio, nullptr, no_passphrase, nullptr);
  });
  if (!key.ok()) return key.status();
  return SigningKey(*key);
}

Result<SigningKey> SigningKey::read_public(const std::string& path) {
  const auto key = read_pem(path, "public", [](BIO* bio) {
    return PEM_read_bio_PUBKEY(bio, nullptr, no_passphrase, nullptr);
  });
  if (!key.ok()) return key.status();
  return SigningKey(*key);
}

Status SigningKey::write_pair(const std::string& path) const {
  const Bio secret(BIO_new(BIO_s_mem()), BIO_free), open(BIO_new(BIO_s_mem()), BIO_free);
  if (PEM_write_bio_PKCS8PrivateKey(secret.get(), key_.get(), nullptr, nullptr, 0, nullptr,
                                    nullptr) != 1 ||
      PEM_write_bio_PUBKEY(open.get(), key_.get()) != 1)
    return Status(Code::io_error, "OpenSSL cannot write the key");
  if (::access((path + ".pub").c_str(), F_OK) == 0)
    return Status(Code::invalid_argument, path + ".pub exists; a key is never overwritten");
  Status status = write_new(path, text_of(secret.get()), 0600);
  if (!status.ok()) return status;
  status = write_new(path + ".pub", text_of(open.get()), 0644);
  if (!status.ok()) ::unlink(path.c_str()); // half a pair would be in the way of the next one
  return status;
}

std::string SigningKey::id() const {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key_.get(), &der);
  if (size <= 0) return {};
  const Digest digest = sha256(der, static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return to_hex(digest);
}

Result<std::string> SigningKey::sign(std::string_view message) const {
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::string signature(signature_bytes, '\0');
  std::size_t size = signature.size();
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes_of(message), message.size()) != 1 ||
      size != signature_bytes) {
    ERR_clear_error();
    return Status(Code::invalid_argument, "this key cannot sign");
  }
  return signature;
}

bool SigningKey::verifies(std::string_view message, std::string_view signature) const {
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const bool good =
      signature.size() == signature_bytes &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(message),
                       message.size()) == 1;
  ERR_clear_error();
  return good;
}

} // namespace hitproof::schema
