#include "schema/envelope.h"

#include <nlohmann/json.hpp>
#include <openssl/evp.h>

namespace hitproof::schema {
namespace {

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0'); // and OpenSSL's closing zero
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// Empty where it is not base64. OpenSSL counts the padding as zero bytes.
std::string from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return {};
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return {};
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

std::string text_at(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

} // namespace

std::string pre_authentication_encoding(std::string_view payload_type, std::string_view payload) {
  std::string text = "DSSEv1 " + std::to_string(payload_type.size()) + " ";
  text.append(payload_type);
  text += " " + std::to_string(payload.size()) + " ";
  text.append(payload);
  return text;
}

Result<Envelope> seal(std::string payload_type, std::string payload, const SigningKey& key) {
  Result<std::string> signature = key.sign(pre_authentication_encoding(payload_type, payload));
  if (!signature.ok()) return signature.status();
  return Envelope{std::move(payload_type), std::move(payload), key.id(), std::move(*signature)};
}

bool is_sealed_by(const Envelope& envelope, const SigningKey& key) {
  return key.verifies(pre_authentication_encoding(envelope.payload_type, envelope.payload),
                      envelope.signature);
}

std::string write_envelope(const Envelope& envelope) {
  nlohmann::ordered_json signature;
  signature["keyid"] = envelope.key_id;
  signature["sig"] = to_base64(envelope.signature);
  nlohmann::ordered_json json;
  json["payload"] = to_base64(envelope.payload);
  json["payloadType"] = envelope.payload_type;
  json["signatures"] = nlohmann::ordered_json::array({signature});
  return json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<Envelope> parse_envelope(std::string_view text) {
  const auto refused = [](const std::string& why) { return Status(Code::corruption, why); };
  if (text.size() > max_envelope_bytes) return refused("is longer than 1 MiB");
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return refused("is not a JSON object");
  const auto signatures = json.find("signatures");
  if (signatures == json.end() || !signatures->is_array() || signatures->size() != 1 ||
      !signatures->front().is_object())
    return refused("has not one signature");
  Envelope envelope{text_at(json, "payloadType"), from_base64(text_at(json, "payload")),
                    text_at(signatures->front(), "keyid"),
                    from_base64(text_at(signatures->front(), "sig"))};
  if (envelope.payload.empty() || envelope.payload_type.empty() || envelope.signature.empty())
    return refused("lacks a payload, its type or a signature in base64");
  if (write_envelope(envelope) != text)
    return refused("is not in the one form in which it is written");
  return envelope;
}

} // namespace hitproof::schema
