// Reads that the program announces one by one (states, tails, pooled keys) and the diagnostic flip:
// the records, and the real device's way to them. The simulated device's stands in tail_watch.cpp.
#pragma once

#include "kernels/page_ops.h"
#include "probes/hitproof.h"
#include "schema/records.h"

namespace hitproof::probes {

inline constexpr std::size_t largest_tail = 32768; // bytes of one tail
inline constexpr std::size_t largest_key = 32768;  // bytes of one pooled key
inline constexpr std::uint32_t tail_halves = 2;    // key, gate

kernels::StridedBlock effective_layout(const hitproof_tail_read_t& t) noexcept;
// The slot that was written by the step before `position`.
std::uint32_t newest_slot(const hitproof_tail_read_t& t, std::uint32_t position) noexcept;
bool flips_naive() noexcept;

// Everything of the record but what is found at the addresses.
schema::rec::state state_record(const hitproof_state_t& s) noexcept;
schema::rec::tail_read tail_record(const hitproof_tail_read_t& t) noexcept;
schema::rec::pooled_key key_record(const hitproof_pooled_key_t& k) noexcept;
schema::rec::tail_flip flip_record(const hitproof_tail_read_t& t, std::uint32_t position,
                                   std::uint64_t address) noexcept;

// Each puts kernels and a closure on the announced stream. False: nothing could be put there.
bool cuda_state(const hitproof_state_t& s, std::uint64_t content) noexcept;
bool cuda_tail_read(const hitproof_tail_read_t& t) noexcept;
bool cuda_pooled_key(const hitproof_pooled_key_t& k) noexcept;
bool cuda_flip(const hitproof_tail_read_t& t, std::uint32_t position) noexcept;

} // namespace hitproof::probes
