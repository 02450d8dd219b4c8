// The page kernels (kernels/cuda) in a context of the host program, and the memory that a batch of
// them needs: tables in pinned host memory with their copy on the device, and scratch.
#pragma once

#include "kernels/cuda/page_level.h"
#include "kernels/cuda/page_tail.h"
#include "probes/cuda_driver.h"

namespace hitproof::probes {

enum class PageKernel : unsigned {
  fill,
  residue,
  nonzero,
  compare,
  copy,
  digest,
  digest_few,
  digest_top,
  gather,
  flip,
  delay,
  count
};

struct PageKernels {
  context_t context = nullptr;
  void* function[static_cast<unsigned>(PageKernel::count)] = {};
  unsigned processors = 0;
  unsigned processors_for_few = 0; // as kernels::shape_of counts them
};
// The kernels in the current context, loaded on first use; null where there are none, and a meta
// record `page.work` says why. For announcements only: loading takes its time.
const PageKernels* page_kernels(context_t context) noexcept;

// Loads them ahead of the first transfer, into the context that this device memory belongs to, or
// else the current one. Does nothing where there is no context.
void prepare_page_kernels(std::uint64_t address) noexcept;

// A list of pages with its results, inside a batch's tables.
struct PageList {
  kernels::PageTask* tasks = nullptr; // host copy
  std::uint32_t count = 0;
  kernels::PageLayout layout;
};

// One use of the tables, from an announcement to the last closure on its stream.
struct PageBatch {
  PageBatch* next = nullptr;
  const PageKernels* kernels = nullptr;
  stream_t stream = nullptr;
  unsigned char* host = nullptr; // the tables; the device has them at the same offsets
  devptr device = 0;
  std::size_t room = 0, used = 0, results = 0; // results: where what comes back begins
  devptr scratch = 0;
  std::size_t scratch_room = 0;
  bool failed = false; // a driver call was refused: what came back means nothing

  std::size_t offset_of(const void* p) const noexcept {
    return static_cast<std::size_t>(static_cast<const unsigned char*>(p) - host);
  }
  devptr on_device(const void* p) const noexcept { return device + offset_of(p); }
  // Takes n objects from the tables, set to T{}. The caller asked for enough room.
  template <class T> T* take(std::size_t n) noexcept {
    used = (used + alignof(T) - 1) / alignof(T) * alignof(T);
    T* first = reinterpret_cast<T*>(host + used);
    for (std::size_t i = 0; i < n; ++i)
      first[i] = T{};
    used += n * sizeof(T);
    return first;
  }
};

// A batch with at least this room; more are made when none is free, which only announcements see.
// Null where the driver refuses memory; that is counted, and noted in meta record `page.memory`.
PageBatch* take_batch(const PageKernels& kernels, stream_t stream, std::size_t tables,
                      std::size_t scratch) noexcept;
// Makes no CUDA call: host functions may use it.
void give_back_batch(PageBatch* batch) noexcept;

// Each puts work on the batch's stream; a refusal is counted and marks the batch as failed.
void upload_tables(PageBatch& batch) noexcept;
void download_results(PageBatch& batch) noexcept; // everything taken since batch.results
void launch_walk(PageBatch& batch, PageKernel kernel, const PageList& list,
                 kernels::PageCounts* counts) noexcept;
// `rows`: device memory for rows_of(slots, segments).bytes(); `done`: one zero a segment.
void launch_digest(PageBatch& batch, const PageList& list, kernels::PageRoots* roots, devptr rows,
                   std::uint32_t* done) noexcept;
void launch_one(PageBatch& batch, PageKernel kernel, unsigned threads, void** arguments) noexcept;

} // namespace hitproof::probes
