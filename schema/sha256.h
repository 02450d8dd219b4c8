// The one SHA-256 of the house (OpenSSL's, through its functions that neither allocate nor lock, so
// that it can run inside a preloaded library). FIPS 180-4; uses SHA-NI where the processor has it.
#pragma once

#include "schema/status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hitproof::schema {

using Digest = std::array<std::uint8_t, 32>;

// Incremental hash. A finished object starts again from the empty message.
class Sha256 {
 public:
  Sha256() noexcept;
  Sha256& update(const void* data, std::size_t bytes) noexcept;
  Sha256& update(std::string_view text) noexcept { return update(text.data(), text.size()); }
  // Integers are hashed as little-endian bytes.
  Sha256& update_u32(std::uint32_t value) noexcept { return update(&value, sizeof value); }
  Sha256& update_u64(std::uint64_t value) noexcept { return update(&value, sizeof value); }
  Digest finish() noexcept;

 private:
  // Room for OpenSSL's SHA256_CTX, whose header stays out of ours.
  alignas(8) unsigned char context_[112];
};

// One shot, no allocation.
Digest sha256(const void* data, std::size_t bytes) noexcept;
Digest sha256(std::string_view text) noexcept;
// The whole file's content; reads in blocks. Errors: not_found, io_error.
Result<Digest> sha256_file(const std::string& path);

// 64 lower-case hexadecimal characters.
std::string to_hex(const Digest& digest);
// Accepts either case; anything but 64 hexadecimal characters is invalid_argument.
Result<Digest> digest_from_hex(std::string_view hex);
bool is_zero(const Digest& digest) noexcept;

} // namespace hitproof::schema
