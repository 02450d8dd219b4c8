// The work on the pages of a transfer, as its two back ends share it: what is wanted of each page,
// and the records that come of it. Everything here may run inside a closure.
#pragma once

#include "kernels/page_ops.h"
#include "probes/transfer.h"
#include "schema/page_digest.h"

namespace hitproof::probes {

enum : std::uint8_t { place_device = 0, place_host = 1 };
enum : std::uint8_t { moment_leaving = 0, moment_landing = 1 };

inline bool mode_has(std::uint32_t bit) noexcept { return (settings().mode & bit) != 0; }
std::uint64_t poison_key_of(const WatchedPage& page) noexcept;

// A held page of a load is there already: nothing may overwrite it, so it is not poisoned.
inline bool poisons(const Transfer& t, const WatchedPage& page) noexcept {
  return mode_has(HITPROOF_MODE_POISON) && t.loads() && page.held == 0 && page.device != 0;
}
// The side where the bytes of a transfer leave, and where they land.
inline std::uint8_t leaving_place(const Transfer& t) noexcept {
  return t.loads() ? place_host : place_device;
}
inline std::uint8_t landing_place(const Transfer& t) noexcept {
  return t.loads() ? place_device : place_host;
}
inline std::uint64_t address_at(const WatchedPage& page, std::uint8_t place) noexcept {
  return place == place_device ? page.device : page.host;
}
inline bool digests_leaving(const Transfer& t, const WatchedPage& page) noexcept {
  return mode_has(HITPROOF_MODE_DIGESTS) && !(t.loads() && page.held != 0) &&
         address_at(page, leaving_place(t)) != 0;
}
inline bool digests_landing(const Transfer& t, const WatchedPage& page) noexcept {
  return mode_has(HITPROOF_MODE_DIGESTS) && page.held == 0 &&
         address_at(page, landing_place(t)) != 0;
}
inline bool compares(const WatchedPage& page) noexcept {
  return mode_has(HITPROOF_MODE_COMPARE) && page.held == 0 && page.device != 0 && page.host != 0;
}
inline bool delays(const Transfer& t) noexcept { return !t.loads() && settings().delay_ns != 0; }

void put_digest(const Transfer& t, const WatchedPage& page, std::uint8_t place, std::uint8_t moment,
                const schema::PageDigests& digests, std::uint64_t nonzero,
                std::uint64_t t_ns) noexcept;
// Reads the page by its address on this thread.
void digest_here(const Transfer& t, const WatchedPage& page, std::uint8_t place,
                 std::uint8_t moment) noexcept;
void put_compare(const Transfer& t, const WatchedPage& page, std::uint64_t content_differ,
                 std::uint64_t padding_differ, std::int64_t first, std::uint64_t t_ns) noexcept;
void put_residue(const Transfer& t, const WatchedPage& page, const kernels::PoisonCount& left,
                 std::uint64_t t_ns) noexcept;
inline std::uint64_t verified_bytes(const kernels::PoisonCount& found) noexcept {
  return found.words * kernels::poison_word_bytes + found.tail_bytes;
}
void mark_delay_begins(const Transfer& t) noexcept;
void mark_delay_ended(const Transfer& t) noexcept;
// The last thing that happens to a transfer: stamps its completion and gives its slot back.
void complete_transfer(Transfer& t, std::uint64_t event) noexcept;

// The simulated device. The caller puts both on the stream.
void host_work_before(Transfer& t) noexcept;
void host_work_after(Transfer& t) noexcept;

// A real device: puts work on the transfer's stream. Where none could be put there, it is counted
// why.
void cuda_work_before(Transfer& t) noexcept;
// Completes the transfer when all of it is done. False: there was none, and the transfer only needs
// completing.
bool cuda_work_after(Transfer& t, std::uint64_t event) noexcept;

} // namespace hitproof::probes
