#include "engine/runtime/keys.h"

#include "probes/hitproof.h"
#include "schema/sha256.h"

namespace hitproof::engine {
namespace {

// Length before text: no two lists of inputs have the same bytes.
void add(schema::Sha256& hash, std::string_view name, const Digest& value) {
  hash.update_u32(static_cast<uint32_t>(name.size()))
      .update(name)
      .update(value.data(), value.size());
}

} // namespace

Digest prefix_digest(std::span<const int32_t> tokens) {
  return schema::sha256(tokens.data(), tokens.size_bytes());
}

Digest text_digest(std::string_view text) { return schema::sha256(text); }

Digest make_key(std::span<const NamedDigest> inputs, const Digest& prefix) {
  schema::Sha256 hash;
  for (const auto& [name, value] : inputs)
    add(hash, name, value);
  add(hash, "prefix", prefix);
  return hash.finish();
}

void announce_key(const Digest& key, int rank, std::span<const NamedDigest> inputs,
                  const Digest& prefix) {
  for (const auto& [name, value] : inputs)
    HITPROOF_CALL(key_input, (key.data(), rank, name.c_str(), value.data()));
  HITPROOF_CALL(key_input, (key.data(), rank, "prefix", prefix.data()));
}

std::string hex(const Digest& digest) { return schema::to_hex(digest); }

} // namespace hitproof::engine
