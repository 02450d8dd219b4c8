// Page work on the simulated device: one closure before the copies and one behind them read and
// write device memory by its address.
#include "probes/page_work.h"
#include "schema/clock.h"

#include <cerrno>
#include <time.h>

namespace hitproof::probes {
namespace {

const void* memory(std::uint64_t address) noexcept {
  return reinterpret_cast<const void*>(address);
}

void compare(const Transfer& t, const WatchedPage& page) noexcept {
  const std::uint32_t padding = page.bytes - page.content;
  const auto content = kernels::page_compare(memory(page.device), memory(page.host), page.content);
  const auto rest = kernels::page_compare(memory(page.device + page.content),
                                          memory(page.host + page.content), padding);
  const std::int64_t first = content.first >= 0 ? content.first
                             : rest.first < 0   ? -1
                                                : rest.first + page.content;
  put_compare(t, page, content.differ, rest.differ, first, schema::now());
}

kernels::PoisonCount count_poison(const WatchedPage& page) noexcept {
  return kernels::poison_count(memory(page.device), page.bytes, page.content, poison_key_of(page));
}

void sleep_for(std::uint64_t ns) noexcept {
  timespec left{static_cast<time_t>(ns / 1'000'000'000u), static_cast<long>(ns % 1'000'000'000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

} // namespace

void host_work_before(Transfer& t) noexcept {
  // The delay comes first: whoever reuses a source without waiting does it before the bytes leave.
  if (delays(t)) {
    mark_delay_begins(t);
    sleep_for(settings().delay_ns);
    mark_delay_ended(t);
  }
  for (std::size_t i = 0; i < t.page_count; ++i) {
    const WatchedPage& page = t.pages[i];
    if (poisons(t, page))
      kernels::poison_fill(reinterpret_cast<void*>(page.device), page.bytes, poison_key_of(page));
  }
  // Read back at once, so that the proof is older than any copy on this stream.
  for (std::size_t i = 0; i < t.page_count; ++i) {
    WatchedPage& page = t.pages[i];
    if (!poisons(t, page)) continue;
    page.poison_ns = schema::now();
    page.verified = verified_bytes(count_poison(page));
  }
  for (std::size_t i = 0; i < t.page_count; ++i) {
    if (digests_leaving(t, t.pages[i]))
      digest_here(t, t.pages[i], leaving_place(t), moment_leaving);
  }
}

void host_work_after(Transfer& t) noexcept {
  for (std::size_t i = 0; i < t.page_count; ++i) {
    const WatchedPage& page = t.pages[i];
    if (page.held != 0) continue; // nothing lands
    if (poisons(t, page)) put_residue(t, page, count_poison(page), schema::now());
    if (digests_landing(t, page)) digest_here(t, page, landing_place(t), moment_landing);
    if (compares(page)) compare(t, page);
  }
}

} // namespace hitproof::probes
