// What tests choose: the seed of legal orders and the break. Read at the first use from
// HITPROOF_SIM_SEED and HITPROOF_SIM_BREAK; changed at run time through the latch interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hitproof::sim {

enum class Break : uint32_t { none, short_copy, lost_entry, ignore_event, no_ipc };

/// 0: everything happens in the order given.
uint64_t seed();
void set_seed(uint64_t seed);

/// "name" or "name:N" (every Nth occasion only); false for an unknown word.
bool set_break(std::string_view text);

/// Is this occasion of `which` one to break? Counts occasions.
bool broken(Break which);

/// A number that depends on the seed and on how many were drawn before; 0 when the seed is 0.
uint64_t draw();

/// A legal order of `count` independent things: identity when the seed is 0.
void shuffle(uint32_t* order, size_t count);

/// Device memory of this process in bytes: HITPROOF_SIM_MEMORY (suffix K, M, G), 8 GiB by default.
uint64_t memory_limit();

} // namespace hitproof::sim
