#include "engine/front/prefix_hash.h"

#include "engine/runtime/keys.h"

namespace hitproof::engine {

void extend_prefix_hashes(std::span<const int32_t> tokens, int block_tokens,
                          std::vector<PrefixHash>& hashes) {
  const auto block = static_cast<size_t>(block_tokens);
  // Few blocks of many tokens: hashing each prefix from its start costs less than a step by far.
  for (size_t k = hashes.size() + 1; k * block <= tokens.size(); ++k)
    hashes.push_back(prefix_digest(tokens.first(k * block)));
}

} // namespace hitproof::engine
