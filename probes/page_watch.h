// What is done to the pages of a transfer on its own stream: before the copies (poison and its
// proof, the save's delay, digests of what leaves) and behind them (residue, digests of what
// landed, the comparison with the other side). Only facts are written down; what they mean is the
// auditor's.
#pragma once

#include "probes/transfer.h"

namespace hitproof::probes {

// Puts the work before the copies on the transfer's stream.
void watch_before_copies(Transfer& t) noexcept;
// Puts the work behind the copies on the stream, closes the transfer for its thread and, when that
// work is done, gives its slot back.
void watch_after_copies(Transfer& t, std::uint64_t event) noexcept;

void put_mark(std::uint64_t transfer, std::uint16_t kind, std::uint64_t event,
              std::uint64_t value) noexcept;

} // namespace hitproof::probes
