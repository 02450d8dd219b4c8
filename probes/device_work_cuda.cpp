// Page work on a real device: kernels on the transfer's own stream, one launch for all pages of a
// kind, and closures that only write down what came back.
//
// A host page crosses the bus once: it is staged into device memory, digested there and compared
// there. On a load that is before the copies, on a save behind them.
#include "probes/coverage.h"
#include "probes/device_work.h"
#include "probes/page_kernels.h"
#include "probes/page_records.h"
#include "probes/page_work.h"

#include <cstring>

namespace hitproof::probes {
namespace {

using kernels::PageCounts;
using kernels::PageRoots;
using kernels::PageTask;

struct Reach {
  bool device = false, host = false;
  std::uint64_t staged = 0; // where the host page is on the device
};

// Stands at the beginning of the batch's tables.
struct PagesWork {
  PageBatch* batch = nullptr;
  Transfer* transfer = nullptr;
  Reach* reach = nullptr; // one per page
  PageList poisoned, leaving, landing, compared, staged;
  PageCounts *verified = nullptr, *residue = nullptr, *differ = nullptr;
  PageRoots *left = nullptr, *landed = nullptr;
  std::uint32_t* segments_done = nullptr;
  devptr rows = 0;
  std::uint64_t before_ns = 0, event = 0;
  std::size_t records = 0; // owed by the last closure
};

struct Closing {
  PagesWork* work;
};

constexpr std::size_t staged_alignment = 256;
std::size_t staged_bytes(const WatchedPage& page) noexcept {
  return (page.bytes + staged_alignment - 1) / staged_alignment * staged_alignment;
}

PagesWork& work_of(Transfer& t) noexcept { return *static_cast<PagesWork*>(t.device_work); }

bool stages(const Transfer& t, const WatchedPage& page) noexcept {
  const bool digested = t.loads() ? digests_leaving(t, page) : digests_landing(t, page);
  return page.host != 0 && (digested || compares(page));
}

PageTask task_for(const WatchedPage& page, std::size_t index, std::uint64_t address,
                  std::uint64_t other = 0) noexcept {
  PageTask task;
  task.address = address;
  task.other = other;
  task.key = poison_key_of(page);
  task.bytes = page.bytes;
  task.content = page.content;
  task.page = static_cast<std::uint32_t>(index);
  return task;
}

template <class Want> PageList list_of(PagesWork& work, const Want& want) noexcept {
  const Transfer& t = *work.transfer;
  PageList list;
  for (std::size_t i = 0; i < t.page_count; ++i) {
    PageTask task;
    if (t.pages[i].bytes == 0 || !want(t.pages[i], i, task)) continue;
    PageTask* const place = work.batch->take<PageTask>(1);
    if (list.tasks == nullptr) list.tasks = place;
    *place = task;
    ++list.count;
  }
  if (list.count != 0) list.layout = kernels::lay_out(list.tasks, list.count);
  return list;
}

// Digest of one side: the device page itself, the host page where it was staged.
PageList digest_list(PagesWork& work, std::uint8_t place,
                     bool (*wanted)(const Transfer&, const WatchedPage&) noexcept) noexcept {
  return list_of(work, [&](const WatchedPage& page, std::size_t i, PageTask& task) {
    const Reach& reach = work.reach[i];
    const std::uint64_t address = place == place_device ? page.device : reach.staged;
    const bool reachable = place == place_device ? reach.device : reach.staged != 0;
    if (!wanted(*work.transfer, page) || !reachable) return false;
    task = task_for(page, i, address);
    return true;
  });
}

void make_lists(PagesWork& work, std::uint64_t staging) noexcept {
  Transfer& t = *work.transfer;
  for (std::size_t i = 0; i < t.page_count; ++i) {
    const WatchedPage& page = t.pages[i];
    Reach& reach = work.reach[i];
    reach.device = device_reaches(page.device, page.bytes);
    if (page.device != 0 && !reach.device) count(Counter::page_unreachable, 1, page.bytes);
    if (!stages(t, page)) continue;
    reach.host = device_reaches(page.host, page.bytes);
    if (!reach.host) {
      if (compares(page)) count(Counter::page_unreachable, 1, page.bytes);
      continue;
    }
    reach.staged = staging;
    staging += staged_bytes(page);
  }
  work.poisoned = list_of(work, [&](const WatchedPage& page, std::size_t i, PageTask& task) {
    if (!poisons(t, page) || !work.reach[i].device) return false;
    task = task_for(page, i, page.device);
    return true;
  });
  work.staged = list_of(work, [&](const WatchedPage& page, std::size_t i, PageTask& task) {
    if (work.reach[i].staged == 0) return false;
    task = task_for(page, i, work.reach[i].staged, page.host);
    return true;
  });
  work.compared = list_of(work, [&](const WatchedPage& page, std::size_t i, PageTask& task) {
    if (!compares(page) || !work.reach[i].device || work.reach[i].staged == 0) return false;
    task = task_for(page, i, page.device, work.reach[i].staged);
    return true;
  });
  work.leaving = digest_list(work, leaving_place(t), digests_leaving);
  work.landing = digest_list(work, landing_place(t), digests_landing);
}

// Everything that the transfer will need, so that nothing is allocated or uploaded again behind the
// copies. Null where there is no memory, which is counted.
PagesWork* prepare(Transfer& t, const PageKernels& page_kernels) noexcept {
  std::size_t staging = 0;
  std::uint64_t slots = 0, segments = 0;
  for (std::size_t i = 0; i < t.page_count; ++i) {
    slots += kernels::slots_of(t.pages[i].bytes);
    segments += kernels::segments_of(t.pages[i].bytes);
    if (stages(t, t.pages[i])) staging += staged_bytes(t.pages[i]);
  }
  slots = kernels::most_slots(slots, t.page_count);
  const kernels::TreeRows rows =
      kernels::rows_of(static_cast<std::uint32_t>(slots), static_cast<std::uint32_t>(segments));
  const std::size_t per_page =
      sizeof(Reach) + 5 * sizeof(PageTask) + 3 * sizeof(PageCounts) + 2 * sizeof(PageRoots);
  const std::size_t tables =
      sizeof(PagesWork) + t.page_count * per_page + rows.segments * sizeof(std::uint32_t) + 256;
  PageBatch* batch = take_batch(page_kernels, t.stream, tables, staging + rows.bytes());
  if (batch == nullptr) return nullptr;
  PagesWork& work = *batch->take<PagesWork>(1);
  work.batch = batch;
  work.transfer = &t;
  work.reach = batch->take<Reach>(t.page_count);
  work.rows = batch->scratch + staging; // staged pages first: a multiple of their alignment
  make_lists(work, batch->scratch);
  work.segments_done = batch->take<std::uint32_t>(rows.segments);
  batch->used = (batch->used + 15) / 16 * 16;
  batch->results = batch->used;
  work.verified = batch->take<PageCounts>(work.poisoned.count);
  work.residue = batch->take<PageCounts>(work.poisoned.count);
  work.differ = batch->take<PageCounts>(work.compared.count);
  work.left = batch->take<PageRoots>(work.leaving.count);
  work.landed = batch->take<PageRoots>(work.landing.count);
  work.records =
      work.poisoned.count + work.compared.count + work.leaving.count + work.landing.count;
  return &work;
}

schema::PageDigests digests_of(const PageRoots& roots) noexcept {
  schema::PageDigests digests;
  std::memcpy(digests.content.data(), roots.content, sizeof roots.content);
  std::memcpy(digests.page.data(), roots.page, sizeof roots.page);
  return digests;
}

void put_delay(Transfer& t, PageBatch& batch) noexcept {
  struct Mark {
    Transfer* transfer;
  };
  // A kernel sleeps instead of a closure: closures of a context may wait for one another.
  std::uint64_t ns = settings().delay_ns;
  void* arguments[] = {&ns};
  put_on_stream<Mark>(t.stream, {&t}, [](Mark& m) noexcept { mark_delay_begins(*m.transfer); });
  launch_one(batch, PageKernel::delay, 1, arguments);
  put_on_stream<Mark>(t.stream, {&t}, [](Mark& m) noexcept { mark_delay_ended(*m.transfer); });
}

// Host pages that the device cannot read are digested by this thread.
void digest_unstaged(PagesWork& work, std::uint8_t moment,
                     bool (*wanted)(const Transfer&, const WatchedPage&) noexcept) noexcept {
  const Transfer& t = *work.transfer;
  for (std::size_t i = 0; i < t.page_count; ++i) {
    if (wanted(t, t.pages[i]) && work.reach[i].staged == 0)
      digest_here(t, t.pages[i], place_host, moment);
  }
}

// Between what was done before the copies and the copies themselves.
void stamp(Closing& closing) noexcept {
  PagesWork& work = *closing.work;
  Transfer& t = *work.transfer;
  if (t.loads()) digest_unstaged(work, moment_leaving, digests_leaving);
  work.before_ns = schema::now();
  for (std::size_t i = 0; i < work.poisoned.count; ++i)
    t.pages[work.poisoned.tasks[i].page].poison_ns = work.before_ns;
}

void write_down(PagesWork& work) noexcept {
  Transfer& t = *work.transfer;
  const std::uint64_t now = schema::now();
  const auto page = [&](const PageList& list, std::size_t i) -> WatchedPage& {
    return t.pages[list.tasks[i].page];
  };
  for (std::size_t i = 0; i < work.leaving.count; ++i)
    put_digest(t, page(work.leaving, i), leaving_place(t), moment_leaving, digests_of(work.left[i]),
               work.left[i].nonzero, work.before_ns);
  for (std::size_t i = 0; i < work.poisoned.count; ++i) {
    WatchedPage& poisoned = page(work.poisoned, i);
    poisoned.verified = verified_bytes(kernels::poison_result(work.verified[i]));
    put_residue(t, poisoned, kernels::poison_result(work.residue[i]), now);
  }
  for (std::size_t i = 0; i < work.landing.count; ++i)
    put_digest(t, page(work.landing, i), landing_place(t), moment_landing,
               digests_of(work.landed[i]), work.landed[i].nonzero, now);
  for (std::size_t i = 0; i < work.compared.count; ++i)
    put_compare(t, page(work.compared, i), work.differ[i].content, work.differ[i].padding,
                kernels::compare_result(work.differ[i]).first, now);
}

void finish(Closing& closing) noexcept {
  PagesWork& work = *closing.work;
  Transfer& t = *work.transfer;
  if (work.batch->failed)
    count_dropped(Counter::page_records, work.records);
  else
    write_down(work);
  if (!t.loads()) digest_unstaged(work, moment_landing, digests_landing);
  const std::uint64_t event = work.event;
  give_back_batch(work.batch); // `work` stands in its tables
  complete_transfer(t, event);
}

} // namespace

void cuda_work_before(Transfer& t) noexcept {
  const DepthGuard depth;
  const ContextGuard guard(t.stream);
  const PageKernels* const loaded = page_kernels(guard.context());
  if (loaded == nullptr) return count(Counter::not_addressable);
  PagesWork* const work = prepare(t, *loaded);
  if (work == nullptr) return;
  PageBatch& batch = *work->batch;
  t.device_work = work;
  // The delay comes first: whoever reuses a source without waiting does it before the bytes leave.
  if (delays(t)) put_delay(t, batch);
  upload_tables(batch);
  launch_walk(batch, PageKernel::fill, work->poisoned, nullptr);
  // Read back at once, so that the proof is older than any copy on this stream.
  launch_walk(batch, PageKernel::residue, work->poisoned, work->verified);
  if (t.loads()) launch_walk(batch, PageKernel::copy, work->staged, nullptr);
  launch_digest(batch, work->leaving, work->left, work->rows, work->segments_done);
  put_on_stream<Closing>(t.stream, {work}, stamp);
}

bool cuda_work_after(Transfer& t, std::uint64_t event) noexcept {
  if (t.device_work == nullptr) return false;
  const DepthGuard depth;
  const ContextGuard guard(t.stream);
  PagesWork& work = work_of(t);
  PageBatch& batch = *work.batch;
  work.event = event;
  if (guard.context() != batch.kernels->context) batch.failed = true;
  launch_walk(batch, PageKernel::residue, work.poisoned, work.residue);
  if (!t.loads()) launch_walk(batch, PageKernel::copy, work.staged, nullptr);
  launch_digest(batch, work.landing, work.landed, work.rows, work.segments_done);
  launch_walk(batch, PageKernel::compare, work.compared, work.differ);
  download_results(batch);
  // What may still run keeps its memory where not even this can be put on the stream.
  if (!put_on_stream<Closing>(t.stream, {&work}, finish)) release_transfer(t);
  return true;
}

} // namespace hitproof::probes
