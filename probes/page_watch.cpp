#include "probes/page_watch.h"

#include "kernels/page_ops.h"
#include "poison/pattern.h"
#include "probes/device_work.h"
#include "probes/page_records.h"
#include "schema/page_digest.h"

#include <cerrno>
#include <time.h>

namespace hitproof::probes {
namespace {

enum : std::uint8_t { place_device = 0, place_host = 1 };
enum : std::uint8_t { moment_leaving = 0, moment_landing = 1 };
enum : std::uint16_t {
  mark_announced = 0,
  mark_delay_begins = 1,
  mark_delay_ended = 2,
  mark_complete = 3
};

const void* memory(std::uint64_t address) noexcept {
  return reinterpret_cast<const void*>(address);
}

std::uint64_t key_of(const WatchedPage& page) noexcept {
  return poison::poison_key(settings().recording_tag, {page.entry, page.block, page.generation});
}

void digest(const Transfer& t, const WatchedPage& page, std::uint8_t place,
            std::uint8_t moment) noexcept {
  const std::uint64_t address = place == place_device ? page.device : page.host;
  if (address == 0) return;
  const schema::PageDigests digests =
      schema::page_digests(memory(address), page.content, page.bytes);
  schema::rec::page_digest r;
  r.transfer = t.id;
  r.content = digests.content;
  r.page = digests.page;
  r.nonzero = kernels::nonzero_bytes(memory(address), page.content);
  r.block = page.block;
  r.bytes = page.bytes;
  r.rank = page.rank;
  r.entry = page.entry;
  r.place = place;
  r.moment = moment;
  r.token_end = page.token_end;
  put_page_record(r, schema::now());
}

void compare(const Transfer& t, const WatchedPage& page) noexcept {
  if (page.device == 0 || page.host == 0) return;
  const std::uint32_t padding = page.bytes - page.content;
  const auto content = kernels::page_compare(memory(page.device), memory(page.host), page.content);
  const auto rest = kernels::page_compare(memory(page.device + page.content),
                                          memory(page.host + page.content), padding);
  schema::rec::page_compare r;
  r.transfer = t.id;
  r.content_bytes = page.content;
  r.content_differ = content.differ;
  r.padding_bytes = padding;
  r.padding_differ = rest.differ;
  r.first_differ = content.first >= 0 ? content.first
                   : rest.first < 0   ? -1
                                      : rest.first + page.content;
  r.block = page.block;
  r.token_end = page.token_end;
  r.rank = page.rank;
  r.entry = page.entry;
  r.direction = t.direction;
  put_page_record(r, schema::now());
}

void poison_page(WatchedPage& page) noexcept {
  kernels::poison_fill(reinterpret_cast<void*>(page.device), page.bytes, key_of(page));
}

// Read back at once, so that the proof is older than any copy on this stream.
void verify_poison(WatchedPage& page) noexcept {
  page.poison_ns = schema::now();
  const auto found =
      kernels::poison_count(memory(page.device), page.bytes, page.content, key_of(page));
  page.verified = found.words * kernels::poison_word_bytes + found.tail_bytes;
}

void residue(const Transfer& t, const WatchedPage& page) noexcept {
  const auto left =
      kernels::poison_count(memory(page.device), page.bytes, page.content, key_of(page));
  schema::rec::page_poison r;
  r.transfer = t.id;
  r.page_bytes = page.bytes;
  r.verified_bytes = page.verified;
  r.residue_bytes = left.words * kernels::poison_word_bytes;
  r.residue_content = left.content_words * kernels::poison_word_bytes;
  r.first_residue = left.first;
  r.poison_ns = page.poison_ns;
  r.block = page.block;
  r.generation = page.generation;
  r.token_end = page.token_end;
  r.rank = page.rank;
  r.entry = page.entry;
  put_page_record(r, schema::now());
}

void sleep_for(std::uint64_t ns) noexcept {
  timespec left{static_cast<time_t>(ns / 1'000'000'000u), static_cast<long>(ns % 1'000'000'000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

struct Work {
  Transfer* transfer;
  std::uint64_t event;
};

bool has(std::uint32_t bit) noexcept { return (settings().mode & bit) != 0; }

// A held page of a load is there already: nothing may overwrite it, so it is not poisoned.
bool poisons(const Transfer& t, const WatchedPage& page) noexcept {
  return has(HITPROOF_MODE_POISON) && t.loads() && page.held == 0 && page.device != 0;
}

void delay_save(const Transfer& t) noexcept {
  put_mark(t.id, mark_delay_begins, 0, settings().delay_ns);
  sleep_for(settings().delay_ns);
  put_mark(t.id, mark_delay_ended, 0, 0);
}

void before_copies(Work& work) noexcept {
  Transfer& t = *work.transfer;
  // The delay comes first: whoever reuses a source without waiting does it before the bytes leave.
  if (!t.loads() && settings().delay_ns != 0) delay_save(t);
  for (std::size_t i = 0; i < t.page_count; ++i) {
    if (poisons(t, t.pages[i])) poison_page(t.pages[i]);
  }
  for (std::size_t i = 0; i < t.page_count; ++i) {
    if (poisons(t, t.pages[i])) verify_poison(t.pages[i]);
  }
  if (!has(HITPROOF_MODE_DIGESTS)) return;
  for (std::size_t i = 0; i < t.page_count; ++i) {
    if (t.loads() && t.pages[i].held != 0) continue;
    digest(t, t.pages[i], t.loads() ? place_host : place_device, moment_leaving);
  }
}

void after_copies(Work& work) noexcept {
  Transfer& t = *work.transfer;
  for (std::size_t i = 0; i < t.page_count; ++i) {
    const WatchedPage& page = t.pages[i];
    if (page.held != 0) continue; // nothing lands
    if (poisons(t, page)) residue(t, page);
    if (has(HITPROOF_MODE_DIGESTS))
      digest(t, page, t.loads() ? place_device : place_host, moment_landing);
    if (has(HITPROOF_MODE_COMPARE)) compare(t, page);
  }
}

void complete(Work& work) noexcept {
  put_mark(work.transfer->id, mark_complete, work.event, 0);
  release_transfer(*work.transfer);
}

void after_and_complete(Work& work) noexcept {
  after_copies(work);
  complete(work);
}

bool watches_pages() noexcept {
  constexpr std::uint32_t page_work =
      HITPROOF_MODE_DIGESTS | HITPROOF_MODE_POISON | HITPROOF_MODE_COMPARE | HITPROOF_MODE_DELAY;
  if (!has(page_work)) return false;
  if (device_memory_is_readable()) return true;
  count(Counter::not_addressable);
  return false;
}

} // namespace

void put_mark(std::uint64_t transfer, std::uint16_t kind, std::uint64_t event,
              std::uint64_t value) noexcept {
  schema::rec::transfer_mark r;
  r.transfer = transfer;
  r.event = event;
  r.value = value;
  r.kind = kind;
  if (!schema::journal(r)) count_dropped(Counter::announcements);
}

bool drops_page_record() noexcept {
  const std::uint32_t every = settings().force_drop;
  static std::atomic<std::uint64_t> records{0};
  return every != 0 && (records.fetch_add(1, std::memory_order_relaxed) + 1) % every == 0;
}

void watch_before_copies(Transfer& t) noexcept {
  if (!watches_pages()) return;
  put_on_stream<Work>(t.stream, {&t, 0}, before_copies);
}

void watch_after_copies(Transfer& t, std::uint64_t event) noexcept {
  close_transfer(t);
  const bool watches = t.ready && watches_pages();
  if (!put_on_stream<Work>(t.stream, {&t, event}, watches ? after_and_complete : complete)) {
    release_transfer(t);
  }
}

} // namespace hitproof::probes
