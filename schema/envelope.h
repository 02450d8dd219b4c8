// A DSSE envelope (github.com/secure-systems-lab/dsse, version 1.0.2) with one signature.
#pragma once

#include "schema/signing_key.h"
#include "schema/status.h"

#include <string>
#include <string_view>

namespace hitproof::schema {

struct Envelope {
  std::string payload_type; // "application/vnd.in-toto+json"
  std::string payload;
  std::string key_id; // which key signed, in the signer's words: a hint, not signed
  std::string signature;
};

inline constexpr std::size_t max_envelope_bytes = std::size_t{1} << 20;

// What is signed: DSSE's pre-authentication encoding of type and payload.
std::string pre_authentication_encoding(std::string_view payload_type, std::string_view payload);

Result<Envelope> seal(std::string payload_type, std::string payload, const SigningKey& key);
bool is_sealed_by(const Envelope& envelope, const SigningKey& key);

// JSON in the one form that parse_envelope accepts, so that no byte of it can change unseen.
std::string write_envelope(const Envelope& envelope);
// Errors: corruption says what is wrong.
Result<Envelope> parse_envelope(std::string_view text);

} // namespace hitproof::schema
