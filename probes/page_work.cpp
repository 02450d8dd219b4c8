#include "probes/page_work.h"

#include "poison/pattern.h"
#include "probes/page_records.h"
#include "probes/page_watch.h"

namespace hitproof::probes {
namespace {

enum : std::uint16_t { kind_delay_begins = 1, kind_delay_ended = 2, kind_complete = 3 };

} // namespace

std::uint64_t poison_key_of(const WatchedPage& page) noexcept {
  return poison::poison_key(settings().recording_tag, {page.entry, page.block, page.generation});
}

void put_digest(const Transfer& t, const WatchedPage& page, std::uint8_t place, std::uint8_t moment,
                const schema::PageDigests& digests, std::uint64_t nonzero,
                std::uint64_t t_ns) noexcept {
  schema::rec::page_digest r;
  r.transfer = t.id;
  r.content = digests.content;
  r.page = digests.page;
  r.nonzero = nonzero;
  r.block = page.block;
  r.bytes = page.bytes;
  r.rank = page.rank;
  r.entry = page.entry;
  r.place = place;
  r.moment = moment;
  r.token_end = page.token_end;
  put_page_record(r, t_ns);
}

void digest_here(const Transfer& t, const WatchedPage& page, std::uint8_t place,
                 std::uint8_t moment) noexcept {
  const void* const memory = reinterpret_cast<const void*>(address_at(page, place));
  const schema::PageDigests digests = schema::page_digests(memory, page.content, page.bytes);
  put_digest(t, page, place, moment, digests, kernels::count_nonzero_bytes(memory, page.content),
             schema::now());
}

void put_compare(const Transfer& t, const WatchedPage& page, std::uint64_t content_differ,
                 std::uint64_t padding_differ, std::int64_t first, std::uint64_t t_ns) noexcept {
  schema::rec::page_compare r;
  r.transfer = t.id;
  r.content_bytes = page.content;
  r.content_differ = content_differ;
  r.padding_bytes = page.bytes - page.content;
  r.padding_differ = padding_differ;
  r.first_differ = first;
  r.block = page.block;
  r.token_end = page.token_end;
  r.rank = page.rank;
  r.entry = page.entry;
  r.direction = t.direction;
  put_page_record(r, t_ns);
}

void put_residue(const Transfer& t, const WatchedPage& page, const kernels::PoisonCount& left,
                 std::uint64_t t_ns) noexcept {
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
  put_page_record(r, t_ns);
}

void mark_delay_begins(const Transfer& t) noexcept {
  put_mark(t.id, kind_delay_begins, 0, settings().delay_ns);
}
void mark_delay_ended(const Transfer& t) noexcept { put_mark(t.id, kind_delay_ended, 0, 0); }

void complete_transfer(Transfer& t, std::uint64_t event) noexcept {
  put_mark(t.id, kind_complete, event, 0);
  release_transfer(t);
}

} // namespace hitproof::probes
