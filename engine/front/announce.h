// What the front process tells the probe: requests, lookups, admissions, blocks. Without the probe,
// nothing.
#pragma once

#include "engine/front/scheduler.h"
#include "engine/runtime/protocol.h"

#include <string>
#include <vector>

namespace hitproof::engine {

void announce_request(const Sequence& sequence);
void announce_block(const BlockEvent& event);
void announce_admission(const Admission& admission);

/// `keys[rank][k]` names what the rank would restore from for k+1 chunks; may be empty where keys
/// are not known.
void announce_lookup(const LookupReply& reply, uint64_t request, uint32_t query_tokens, bool full,
                     const std::vector<std::vector<Digest>>& keys, uint32_t chunk_tokens);

} // namespace hitproof::engine
