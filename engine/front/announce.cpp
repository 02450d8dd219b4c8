#include "engine/front/announce.h"

#include "engine/runtime/keys.h"
#include "probes/hitproof.h"

#include <span>

namespace hitproof::engine {

void announce_request(const Sequence& sequence) {
  if (!hitproof_request) return;
  const Digest prompt =
      prefix_digest(std::span(sequence.tokens).first(static_cast<size_t>(sequence.prompt_tokens)));
  const hitproof_request_t record{sequence.id, prompt.data(),
                                  static_cast<uint32_t>(sequence.prompt_tokens),
                                  static_cast<uint32_t>(sequence.max_tokens), sequence.tag.c_str()};
  hitproof_request(&record);
}

void announce_block(const BlockEvent& event) {
  if (!hitproof_block) return;
  const hitproof_block_t record{
      event.request,  static_cast<uint32_t>(event.block), event.generation,
      event.group,    static_cast<uint16_t>(event.op),    event.token_begin,
      event.token_end};
  hitproof_block(&record);
}

void announce_admission(const Admission& a) {
  if (!hitproof_admission) return;
  const bool loaded = a.label_boundary > a.local_hit;
  const uint32_t source = (a.local_hit > 0 ? 1u : 0u) + (loaded ? 2u : 0u);
  const auto u = [](int32_t value) { return static_cast<uint32_t>(value); };
  const hitproof_admission_t record{
      a.request,           a.lookup,      u(a.local_hit), u(a.external_hit),
      u(a.label_boundary), u(a.computed), u(a.scheduled), 0,
      u(a.preemptions),    source};
  hitproof_admission(&record);
}

void announce_lookup(const LookupReply& reply, uint64_t request, uint32_t query_tokens, bool full,
                     const std::vector<std::vector<Digest>>& keys, uint32_t chunk_tokens) {
  if (!hitproof_lookup || !hitproof_lookup_answer) return;
  hitproof_lookup(reply.lookup, request, query_tokens, reply.answer, full ? 1 : 0);
  const Digest none{};
  for (size_t rank = 0; rank < reply.answers.size(); ++rank) {
    for (size_t group = 0; group < reply.answers[rank].size(); ++group) {
      const uint32_t answer = reply.answers[rank][group];
      const size_t chunks = answer / chunk_tokens;
      const bool known = chunks > 0 && rank < keys.size() && chunks <= keys[rank].size();
      hitproof_lookup_answer(reply.lookup, (known ? keys[rank][chunks - 1] : none).data(),
                             static_cast<int>(rank), static_cast<int>(group), answer);
    }
  }
}

} // namespace hitproof::engine
