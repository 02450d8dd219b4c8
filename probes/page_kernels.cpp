#include "probes/page_kernels.h"

#include "kernels/cuda/page_fatbin.h"
#include "probes/coverage.h"
#include "probes/intercept.h"
#include "schema/records.h"

#include <cstdio>
#include <new>

namespace hitproof::probes {
namespace {

constexpr const char* names[] = {
    "hitproof_page_fill",       "hitproof_page_residue",    "hitproof_page_nonzero",
    "hitproof_page_compare",    "hitproof_page_copy",       "hitproof_page_digest",
    "hitproof_page_digest_few", "hitproof_page_digest_top", "hitproof_page_gather",
    "hitproof_page_flip",       "hitproof_page_delay"};
static_assert(sizeof names / sizeof names[0] == static_cast<unsigned>(PageKernel::count));

constexpr std::size_t max_contexts = 16;
PageKernels loaded[max_contexts];
std::size_t loaded_count = 0;
void* library = nullptr;
bool refused = false;
SpinLock loading;
std::atomic<bool> shortage_noted{false};

PageBatch* free_batches = nullptr;
SpinLock batches;

void note(const char* what, int code, const char* name = "page.work") noexcept {
  schema::rec::meta r;
  char text[80];
  if (code == 0)
    std::snprintf(text, sizeof text, "%s", what);
  else
    std::snprintf(text, sizeof text, "%s (%d)", what, code);
  schema::set_text(r.name, name);
  schema::set_text(r.value, text);
  schema::journal(r);
}

const PageKernels* refuse(const char* why, int code = 0) noexcept {
  if (!refused) note(why, code);
  refused = true;
  return nullptr;
}

// The pages of a transfer stay unseen; the first shortage is noted with what was asked for.
PageBatch* no_memory(const char* kind, std::size_t bytes, int code) noexcept {
  count(Counter::memory_short, 1, bytes);
  if (shortage_noted.exchange(true)) return nullptr;
  char text[64];
  std::snprintf(text, sizeof text, "%s: %zu bytes asked for, refused", kind, bytes);
  note(text, code, "page.memory");
  return nullptr;
}

const PageKernels* load(context_t context) noexcept {
  const CudaDriver& d = cuda_driver();
  if (refused) return nullptr;
  if (loaded_count == max_contexts) return refuse("too many contexts");
  if (kernels::page_fatbin().empty()) return refuse("built without CUDA");
  constexpr int processor_count = 16, major = 75, minor = 76, shared_per_processor = 81;
  int device = 0, capability[2] = {}, processors = 0, shared = 0;
  if (d.context_device(&device) != result_success ||
      d.device_attribute(&capability[0], major, device) != result_success ||
      d.device_attribute(&capability[1], minor, device) != result_success ||
      d.device_attribute(&processors, processor_count, device) != result_success ||
      d.device_attribute(&shared, shared_per_processor, device) != result_success)
    return refuse("the driver does not describe the device");
  if (capability[0] < 8) return refuse("device older than sm_80");
  if (library == nullptr) {
    const int code = d.library_load(&library, kernels::page_fatbin().data(), nullptr, nullptr, 0,
                                    nullptr, nullptr, 0);
    if (code != result_success) return refuse("kernels did not load", code);
  }
  PageKernels& made = loaded[loaded_count];
  made = PageKernels{};
  for (unsigned i = 0; i < static_cast<unsigned>(PageKernel::count); ++i) {
    void* kernel = nullptr;
    int code = d.library_kernel(&kernel, library, names[i]);
    // Asked for here, so that no later launch loads anything.
    if (code == result_success) code = d.kernel_function(&made.function[i], kernel);
    if (code != result_success) return refuse("kernel not found", code);
  }
  made.processors = static_cast<unsigned>(processors);
  made.processors_for_few =
      kernels::processors_for_few(made.processors, static_cast<std::uint32_t>(shared));
  made.context = context;
  ++loaded_count;
  char text[32];
  std::snprintf(text, sizeof text, "kernels for sm_%d%d", capability[0], capability[1]);
  note(text, 0);
  return &made;
}

std::size_t rounded(std::size_t bytes) noexcept {
  std::size_t room = 64 * 1024;
  while (room < bytes)
    room *= 2;
  return room;
}

void check(PageBatch& batch, int code) noexcept {
  if (code == result_success) {
    count(Counter::device_work);
    return;
  }
  count_dropped(Counter::device_work);
  batch.failed = true;
}

void launch(PageBatch& batch, PageKernel kernel, unsigned blocks, unsigned threads,
            void** arguments) noexcept {
  if (batch.failed || blocks == 0) return;
  check(batch, cuda_driver().launch(batch.kernels->function[static_cast<unsigned>(kernel)], blocks,
                                    1, 1, threads, 1, 1, 0, batch.stream, arguments, nullptr));
}

} // namespace

const PageKernels* page_kernels(context_t context) noexcept {
  const CudaDriver& driver = cuda_driver();
  const char* const lacking = driver.missing();
  const LockGuard guard(loading);
  if (lacking != nullptr) {
    if (driver.current_context == nullptr) return nullptr; // there is no driver yet
    char text[64];
    std::snprintf(text, sizeof text, "the driver has no %s", lacking);
    return refuse(text);
  }
  if (context == nullptr) return nullptr;
  for (std::size_t i = 0; i < loaded_count; ++i) {
    if (loaded[i].context == context) return &loaded[i];
  }
  return load(context);
}

void prepare_page_kernels(std::uint64_t address) noexcept {
  const DepthGuard depth;
  const ContextGuard guard(OnDevice{address});
  page_kernels(guard.context());
}

PageBatch* take_batch(const PageKernels& kernels, stream_t stream, std::size_t tables,
                      std::size_t scratch) noexcept {
  PageBatch* batch = nullptr;
  {
    const LockGuard guard(batches);
    // The smallest that fits: one with a large scratch is not spent on a single page.
    PageBatch** best = nullptr;
    for (PageBatch** at = &free_batches; *at != nullptr; at = &(*at)->next) {
      if ((*at)->kernels != &kernels || (*at)->room < tables || (*at)->scratch_room < scratch)
        continue;
      if (best == nullptr ||
          (*at)->scratch_room + (*at)->room < (*best)->scratch_room + (*best)->room)
        best = at;
    }
    if (best != nullptr) {
      batch = *best;
      *best = batch->next;
    }
  }
  if (batch == nullptr) {
    batch = new (std::nothrow) PageBatch;
    if (batch == nullptr) return no_memory("memory", sizeof(PageBatch), 0);
    const CudaDriver& d = cuda_driver();
    batch->room = rounded(tables);
    batch->scratch_room = rounded(scratch);
    void* host = nullptr;
    const std::size_t room = batch->room, on_device = room + batch->scratch_room;
    const int on_host = d.allocate_host(&host, room, 0);
    int code = on_host;
    if (code == result_success) code = d.allocate(&batch->device, room);
    if (code == result_success) code = d.allocate(&batch->scratch, batch->scratch_room);
    if (code != result_success) {
      if (on_host == result_success) d.free_host(host);
      if (batch->device != 0) d.free(batch->device);
      delete batch;
      return on_host != result_success ? no_memory("pinned host memory", room, code)
                                       : no_memory("device memory", on_device, code);
    }
    batch->host = static_cast<unsigned char*>(host);
    batch->kernels = &kernels;
  }
  batch->stream = stream;
  batch->used = batch->results = 0;
  batch->failed = false;
  return batch;
}

void give_back_batch(PageBatch* batch) noexcept {
  const LockGuard guard(batches);
  batch->next = free_batches;
  free_batches = batch;
}

void upload_tables(PageBatch& batch) noexcept {
  check(batch, cuda_driver().upload(batch.device, batch.host, batch.used, batch.stream));
}

void download_results(PageBatch& batch) noexcept {
  if (batch.failed || batch.used == batch.results) return;
  check(batch, cuda_driver().download(batch.host + batch.results, batch.device + batch.results,
                                      batch.used - batch.results, batch.stream));
}

void launch_walk(PageBatch& batch, PageKernel kernel, const PageList& list,
                 kernels::PageCounts* counts) noexcept {
  if (list.layout.chunks == 0) return;
  constexpr unsigned threads = 256, warps = threads / kernels::warp_lanes;
  const unsigned wanted = (list.layout.chunks + warps - 1) / warps;
  const unsigned most = batch.kernels->processors * 4;
  devptr tasks = batch.on_device(list.tasks);
  devptr results = counts == nullptr ? 0 : batch.on_device(counts);
  std::uint32_t count = list.count, chunks = list.layout.chunks;
  void* arguments[] = {&tasks, &count, &chunks, &results};
  launch(batch, kernel, wanted < most ? wanted : most, threads, arguments);
}

void launch_digest(PageBatch& batch, const PageList& list, kernels::PageRoots* roots, devptr rows,
                   std::uint32_t* done) noexcept {
  if (list.count == 0) return;
  const kernels::PageLayout& layout = list.layout;
  const kernels::TreeRows sizes = kernels::rows_of(layout.slots, layout.segments);
  devptr tasks = batch.on_device(list.tasks), results = batch.on_device(roots);
  devptr lower = rows, segments = rows + sizes.lower * sizeof(kernels::TreeNode);
  devptr counters = batch.on_device(done);
  std::uint32_t count = list.count, slots = layout.slots, nonzero = 1;
  kernels::TileShape shape =
      kernels::shape_of(sizes.tiles, batch.kernels->processors_for_few, layout.split);
  void* arguments[] = {&tasks, &count,    &slots,    &results, &nonzero,
                       &lower, &segments, &counters, &shape};
  launch(batch, shape.few ? PageKernel::digest_few : PageKernel::digest,
         shape.blocks(layout.slots) + shape.climbers, kernels::tree_threads, arguments);
  void* top[] = {&tasks, &results, &segments};
  if (layout.large != 0)
    launch(batch, PageKernel::digest_top, layout.large, kernels::tree_threads, top);
}

void launch_one(PageBatch& batch, PageKernel kernel, unsigned threads, void** arguments) noexcept {
  launch(batch, kernel, 1, threads, arguments);
}

void forget_page_kernels_after_fork() noexcept {
  // Contexts do not survive a fork.
  loading.reset();
  batches.reset();
  loaded_count = 0;
  library = nullptr;
  refused = false;
  shortage_noted.store(false);
  free_batches = nullptr;
}

} // namespace hitproof::probes
