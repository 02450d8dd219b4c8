// A front process at the cache server: lookups for all ranks of its engine.
#pragma once

#include "engine/runtime/channel.h"
#include "engine/runtime/server_state.h"

namespace hitproof::engine {

// Answers one lookup and protects what it found. The front tells the probe.
LookupReply answer_lookup(ServerState& state, uint64_t instance, const Lookup& lookup);

// Serves until the front sends Shutdown or goes. Returns true after Shutdown.
bool serve_front(ServerState& state, Channel& channel, const Hello& hello);

} // namespace hitproof::engine
