// The announcements of hitproof.h that open, fill and close a transfer.
#include "probes/coverage.h"
#include "probes/hitproof.h"
#include "probes/intercept.h"
#include "probes/page_watch.h"
#include "probes/transfer.h"
#include "schema/records.h"

#include <cstring>

namespace hitproof::probes {
namespace {

enum : std::uint16_t { mark_announced = 0, mark_closed = 5 };

// Stamped with the time of the announcement, written when its pages are known.
void put_transfer(const Transfer& t) noexcept {
  schema::rec::transfer r;
  r.transfer = t.id;
  r.request = t.request;
  r.stream = reinterpret_cast<std::uint64_t>(t.stream);
  std::memcpy(r.key.data(), t.key, sizeof t.key);
  r.rank = t.rank;
  r.direction = t.direction;
  r.token_begin = t.token_begin;
  r.token_end = t.token_end;
  r.boundary = t.boundary;
  r.next_token = t.next_token;
  r.pages = static_cast<std::uint32_t>(t.page_count);
  count(Counter::announcements);
  if (!schema::journal(r, t.announced_ns)) count_dropped(Counter::announcements);
}

void put_page(const hitproof_transfer_page_t& p) noexcept {
  schema::rec::transfer_page r;
  r.transfer = p.transfer;
  r.device_address = reinterpret_cast<std::uint64_t>(p.device_address);
  r.host_address = reinterpret_cast<std::uint64_t>(p.host_address);
  r.host_object = p.host_object;
  r.host_offset = p.host_offset;
  r.bytes = p.bytes;
  r.block = p.block;
  r.generation = p.generation;
  r.token_begin = p.token_begin;
  r.token_end = p.token_end;
  r.rank = p.rank;
  r.entry = p.entry;
  r.held = p.held;
  count(Counter::announcements);
  if (!schema::journal(r)) count_dropped(Counter::announcements);
}

WatchedPage watched(const hitproof_transfer_page_t& p) noexcept {
  WatchedPage page;
  page.device = reinterpret_cast<std::uint64_t>(p.device_address);
  page.host = reinterpret_cast<std::uint64_t>(p.host_address);
  page.bytes = static_cast<std::uint32_t>(p.bytes);
  page.block = p.block;
  page.generation = p.generation;
  page.token_end = p.token_end;
  page.rank = p.rank;
  page.entry = p.entry;
  page.held = p.held;
  const std::uint64_t content = content_bytes_of(p.rank, p.entry);
  if (content == 0) count(Counter::unknown_entry);
  page.content =
      content == 0 || content > p.bytes ? page.bytes : static_cast<std::uint32_t>(content);
  return page;
}

void make_ready(Transfer& t) noexcept {
  sort_pages(t);
  put_transfer(t);
  t.ready = true;
  watch_before_copies(t);
}

} // namespace
} // namespace hitproof::probes

using namespace hitproof::probes;

extern "C" {

void hitproof_transfer(const hitproof_transfer_t* a) {
  if (!recording() || a == nullptr) return;
  write_hook_records_once();
  put_mark(a->transfer, mark_announced, 0, 0);
  if (open_transfer(*a) == nullptr) count_dropped(Counter::announcements);
}

void hitproof_transfer_page(const hitproof_transfer_page_t* p) {
  if (!recording() || p == nullptr) return;
  put_page(*p);
  Transfer* t = find_transfer(p->transfer);
  // A page that comes after the work on the stream was put there cannot be watched any more.
  if (t == nullptr || t->ready || p->bytes > 0xffffffffu || !add_page(*t, watched(*p)))
    count_dropped(Counter::announcements);
}

void hitproof_transfer_ready(uint64_t transfer) {
  if (!recording()) return;
  Transfer* t = find_transfer(transfer);
  if (t == nullptr || t->ready)
    count_dropped(Counter::announcements);
  else
    make_ready(*t);
}

void hitproof_transfer_done(uint64_t transfer, void* event) {
  if (!recording()) return;
  Transfer* t = find_transfer(transfer);
  if (t == nullptr) {
    count_dropped(Counter::announcements);
    return;
  }
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(event);
  put_mark(transfer, mark_closed, address, 0);
  // Never made ready: its record is still owed, and its pages were not watched.
  if (!t->ready) {
    put_transfer(*t);
    count_dropped(Counter::announcements);
  }
  watch_after_copies(*t, address);
}

} // extern "C"
