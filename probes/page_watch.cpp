#include "probes/page_watch.h"

#include "probes/coverage.h"
#include "probes/device_work.h"
#include "probes/observers.h"
#include "probes/page_records.h"
#include "probes/page_work.h"

namespace hitproof::probes {
namespace {

struct Work {
  Transfer* transfer;
  std::uint64_t event;
};

void before_copies(Work& work) noexcept { host_work_before(*work.transfer); }

void complete(Work& work) noexcept { complete_transfer(*work.transfer, work.event); }

void after_and_complete(Work& work) noexcept {
  host_work_after(*work.transfer);
  complete(work);
}

bool watches_pages() noexcept {
  constexpr std::uint32_t page_work =
      HITPROOF_MODE_DIGESTS | HITPROOF_MODE_POISON | HITPROOF_MODE_COMPARE | HITPROOF_MODE_DELAY;
  return mode_has(page_work);
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
  if (captures(t.stream))
    count(Counter::stream_captured);
  else if (back_end() == BackEnd::closures)
    put_on_stream<Work>(t.stream, {&t, 0}, before_copies);
  else
    cuda_work_before(t);
}

void watch_after_copies(Transfer& t, std::uint64_t event) noexcept {
  close_transfer(t);
  // A closure in a graph would run at every launch, long after this transfer is gone.
  if (captures(t.stream)) {
    release_transfer(t);
    return;
  }
  const bool watches = t.ready && watches_pages();
  if (watches && back_end() != BackEnd::closures && cuda_work_after(t, event)) return;
  const bool by_closure = watches && back_end() == BackEnd::closures;
  if (!put_on_stream<Work>(t.stream, {&t, event}, by_closure ? after_and_complete : complete))
    release_transfer(t);
}

} // namespace hitproof::probes
