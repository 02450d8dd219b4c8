#include "engine/front/external_index.h"

#include "engine/front/announce.h"
#include "engine/runtime/keys.h"

#include <stdexcept>

namespace hitproof::engine {

void CacheServerIndex::hello(uint64_t instance) {
  channel_.send(Hello{instance});
  channel_.expect<Done>();
}

ExternalIndex::Answer CacheServerIndex::lookup(const Sequence& s, bool full) {
  const auto c = static_cast<size_t>(block_tokens_);
  Lookup question;
  question.lookup = ++lookups_;
  question.request = s.id;
  question.prompt_tokens = static_cast<uint32_t>(s.tokens.size());
  question.chunk_tokens = static_cast<uint32_t>(c);
  question.full = full;
  for (size_t k = 1; k * c <= s.tokens.size(); ++k)
    question.chunks.push_back({s.hashes[k - 1], k * c < s.tokens.size()
                                                    ? static_cast<uint32_t>(s.tokens[k * c])
                                                    : unknown_token});
  channel_.send(question);
  const auto reply = channel_.expect<LookupReply>();
  if (reply.lookup != question.lookup)
    throw std::runtime_error("the cache server answered lookup " + std::to_string(reply.lookup) +
                             " instead of " + std::to_string(question.lookup));
  for (size_t rank = 0; rank < reply.answers.size(); ++rank)
    for (const uint32_t held : reply.answers[rank])
      if (held < reply.answer)
        throw std::runtime_error("the cache server answered a lookup with " +
                                 std::to_string(reply.answer) + " tokens, but rank " +
                                 std::to_string(rank) + " holds only " + std::to_string(held));

  std::vector<std::vector<Digest>> keys;
  for (const auto& inputs : key_inputs_) {
    auto& of_rank = keys.emplace_back();
    for (const ChunkKey& chunk : question.chunks)
      of_rank.push_back(make_key(inputs, chunk.prefix));
  }
  // A strict lookup keeps the last token back: one token must be left to compute.
  announce_lookup(reply, s.id, question.prompt_tokens - (full ? 0 : 1), full, keys,
                  question.chunk_tokens);
  return {reply.lookup, static_cast<int32_t>(reply.answer)};
}

void CacheServerIndex::release(uint64_t request) {
  channel_.send(Release{request});
  channel_.expect<Done>();
}

void CacheServerIndex::shut_down() { channel_.send(Shutdown{}); }

} // namespace hitproof::engine
