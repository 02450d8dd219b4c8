#include "engine/runtime/front_session.h"

#include "engine/runtime/keys.h"
#include "probes/hitproof.h"

#include <algorithm>

namespace hitproof::engine {
namespace {

constexpr uint8_t kind_mla = HITPROOF_ENTRY_MLA;
constexpr uint8_t kind_indexer = HITPROOF_ENTRY_INDEXER;

bool per_chunk(const EntryExport& entry) {
  return entry.kind == kind_mla || entry.kind == kind_indexer;
}

// Everything one rank holds of a prompt, pinned.
struct Found {
  std::vector<std::vector<Object*>> objects; // [chunk][entry], nullptr where absent
  std::array<std::vector<bool>, transfer_groups>
      can; // [group][chunk]: the group can restore up to this chunk's end
};

Found search(ServerState& state, const RankInfo& rank, const Lookup& lookup, size_t chunks) {
  Found found;
  for (size_t c = 0; c < chunks; ++c) {
    const ChunkKey& chunk = lookup.chunks[c];
    const Digest key = make_key(rank.key_inputs, chunk.prefix);
    auto& objects = found.objects.emplace_back(rank.entries.size(), nullptr);
    std::array<bool, transfer_groups> complete;
    complete.fill(true);
    for (size_t e = 0; e < rank.entries.size(); ++e) {
      const EntryExport& entry = rank.entries[e];
      if (entry.transferred == 0) continue;
      objects[e] = state.store.pin(
          object_name(entry, static_cast<uint16_t>(e), key, chunk.next_token), true);
      bool& group = complete[entry.transfer_group];
      group = group && objects[e] != nullptr;
      // Attention needs every chunk from the first; a state stands for itself.
      if (per_chunk(entry) && c > 0) group = group && found.can[entry.transfer_group][c - 1];
    }
    for (size_t g = 0; g < complete.size(); ++g)
      found.can[g].push_back(complete[g]);
  }
  return found;
}

uint32_t most(const std::vector<bool>& can) {
  for (size_t c = can.size(); c > 0; --c)
    if (can[c - 1]) return static_cast<uint32_t>(c);
  return 0;
}

// Keeps the pins of what a load of `chunks` chunks will read and drops the others.
void keep(ServerState& state, uint64_t instance, const Lookup& lookup, const RankInfo& rank,
          const Found& found, uint32_t chunks) {
  std::vector<Object*> kept, dropped;
  for (size_t c = 0; c < found.objects.size(); ++c) {
    for (size_t e = 0; e < rank.entries.size(); ++e) {
      Object* object = found.objects[c][e];
      if (object == nullptr) continue;
      const bool needed = per_chunk(rank.entries[e]) ? c < chunks : c + 1 == chunks;
      (needed ? kept : dropped).push_back(object);
    }
  }
  state.store.unpin(dropped);
  if (!kept.empty()) state.protect(instance, lookup.request, rank.rank, std::move(kept));
}

} // namespace

LookupReply answer_lookup(ServerState& state, uint64_t instance, const Lookup& lookup) {
  const auto ranks = state.ranks(instance);
  if (ranks.empty())
    throw std::runtime_error("a lookup before any rank of its engine has registered");
  if (lookup.chunk_tokens == 0) throw ProtocolError("a lookup with chunks of no tokens");
  // Strict: the last prompt token stays to be computed, so that no token is folded into a state
  // twice.
  const uint32_t reach =
      lookup.full || lookup.prompt_tokens == 0 ? lookup.prompt_tokens : lookup.prompt_tokens - 1;
  const size_t chunks = std::min<size_t>(lookup.chunks.size(), reach / lookup.chunk_tokens);

  LookupReply reply;
  reply.lookup = lookup.lookup;
  std::vector<Found> found;
  for (const auto& rank : ranks) {
    found.push_back(search(state, *rank, lookup, chunks));
    auto& answers = reply.answers.emplace_back();
    for (size_t g = 0; g < answers.size(); ++g)
      answers[g] = most(found.back().can[g]) * lookup.chunk_tokens;
  }
  uint32_t common = 0;
  for (size_t c = chunks; c > 0 && common == 0; --c) {
    const bool everywhere = std::all_of(found.begin(), found.end(), [c](const Found& f) {
      return std::all_of(f.can.begin(), f.can.end(),
                         [c](const std::vector<bool>& can) { return can[c - 1]; });
    });
    if (everywhere) common = static_cast<uint32_t>(c);
  }
  reply.answer = common * lookup.chunk_tokens;
  for (size_t r = 0; r < ranks.size(); ++r)
    keep(state, instance, lookup, *ranks[r], found[r], common);
  ++state.lookups;
  state.query_tokens += lookup.prompt_tokens;
  state.hit_tokens += reply.answer;
  return reply;
}

bool serve_front(ServerState& state, Channel& channel, const Hello& hello) {
  channel.send(Done{});
  bool shut_down = false;
  try {
    while (!shut_down) {
      const Message message = *channel.receive();
      if (const auto* lookup = std::get_if<Lookup>(&message)) {
        channel.send(answer_lookup(state, hello.instance, *lookup));
      } else if (const auto* release = std::get_if<Release>(&message)) {
        state.release_request(hello.instance, release->request);
        channel.send(Done{});
      } else if (std::holds_alternative<StatsRequest>(message)) {
        Stats stats;
        state.store.fill(stats);
        stats.saves = state.saves;
        stats.loads = state.loads;
        stats.lookups = state.lookups;
        stats.hit_tokens = state.hit_tokens;
        stats.query_tokens = state.query_tokens;
        stats.refused_saves = state.refused_saves;
        channel.send(stats);
      } else if (std::holds_alternative<Shutdown>(message)) {
        shut_down = true;
      } else {
        throw ProtocolError(std::string("a front process sent ") + message_name(message));
      }
    }
  } catch (...) {
    state.release_instance(hello.instance);
    throw;
  }
  state.release_instance(hello.instance);
  return shut_down;
}

} // namespace hitproof::engine
