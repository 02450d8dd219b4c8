// States, tails and pooled keys on a real device: read there on the announced stream, written down
// by a closure behind it.
#include "probes/coverage.h"
#include "probes/device_work.h"
#include "probes/page_kernels.h"
#include "probes/page_records.h"
#include "probes/tail_work.h"
#include "schema/sha256.h"

#include <cstring>

namespace hitproof::probes {
namespace {

std::uint64_t address_of(const void* p) noexcept { return reinterpret_cast<std::uint64_t>(p); }

// What a closure finds at the beginning of its batch's tables.
template <class Announced> struct Read {
  PageBatch* batch = nullptr;
  Announced announced{};
  PageList list;
  void* result = nullptr;
  unsigned char *first = nullptr, *second = nullptr; // bytes that came back
};

// A batch with the announcement in its tables; null where there are no kernels or no memory, which
// is counted.
template <class Announced>
Read<Announced>* begin(const Announced& announced, void* stream, context_t context,
                       std::size_t tables, std::size_t scratch = 0) noexcept {
  const PageKernels* const loaded = page_kernels(context);
  if (loaded == nullptr) {
    count(Counter::not_addressable);
    return nullptr;
  }
  PageBatch* const batch = take_batch(*loaded, stream, sizeof(Read<Announced>) + tables, scratch);
  if (batch == nullptr) return nullptr;
  Read<Announced>* const read = batch->template take<Read<Announced>>(1);
  read->batch = batch;
  read->announced = announced;
  return read;
}

template <class Announced>
bool close(Read<Announced>& read, void (*write)(Read<Announced>&) noexcept) noexcept {
  struct Last {
    Read<Announced>* read;
    void (*write)(Read<Announced>&) noexcept;
  };
  put_on_stream<Last>(read.batch->stream, {&read, write}, [](Last& last) noexcept {
    PageBatch* const batch = last.read->batch;
    if (batch->failed)
      count_dropped(Counter::page_records);
    else
      last.write(*last.read);
    give_back_batch(batch);
  });
  return true;
}

bool unreachable(std::uint64_t bytes) noexcept {
  count(Counter::page_unreachable, 1, bytes);
  return false;
}

} // namespace

bool cuda_state(const hitproof_state_t& s, std::uint64_t content) noexcept {
  const DepthGuard depth;
  const ContextGuard guard(s.stream);
  if (!device_reaches(address_of(s.address), content)) return unreachable(content);
  kernels::PageTask task;
  task.address = address_of(s.address);
  task.bytes = task.content = static_cast<std::uint32_t>(content);
  const kernels::PageLayout layout = kernels::lay_out(&task, 1);
  const kernels::TreeRows rows = kernels::rows_of(layout.slots, layout.segments);
  const std::size_t tables =
      sizeof task + rows.segments * sizeof(std::uint32_t) + sizeof(kernels::PageRoots) + 128;
  auto* const read = begin(s, s.stream, guard.context(), tables, rows.bytes());
  if (read == nullptr) return false;
  PageBatch& batch = *read->batch;
  read->list.tasks = batch.take<kernels::PageTask>(1);
  *read->list.tasks = task;
  read->list.count = 1;
  read->list.layout = layout;
  auto* const done = batch.take<std::uint32_t>(rows.segments);
  batch.used = (batch.used + 15) / 16 * 16;
  batch.results = batch.used;
  auto* const roots = batch.take<kernels::PageRoots>(1);
  read->result = roots;
  upload_tables(batch);
  launch_digest(batch, read->list, roots, batch.scratch, done);
  download_results(batch);
  return close<hitproof_state_t>(*read, [](auto& r) noexcept {
    schema::rec::state record = state_record(r.announced);
    std::memcpy(record.content.data(), static_cast<kernels::PageRoots*>(r.result)->content,
                record.content.size());
    put_page_record(record, schema::now());
  });
}

bool cuda_tail_read(const hitproof_tail_read_t& t) noexcept {
  const DepthGuard depth;
  const ContextGuard guard(t.stream);
  const kernels::StridedBlock block = effective_layout(t);
  const std::size_t bytes = block.elements() * t.element_bytes;
  const std::size_t extent =
      (std::size_t{tail_halves - 1} * t.stride[0] + std::size_t{t.ring - 1u} * t.stride[1] +
       std::size_t{t.channels - 1u} * t.stride[2] + 1) *
      t.element_bytes;
  if (!device_reaches(address_of(t.effective), extent)) return unreachable(extent);
  const bool naive = t.naive != nullptr && device_reaches(address_of(t.naive), bytes);
  if (t.naive != nullptr && !naive) unreachable(bytes);
  auto* const read =
      begin(t, t.stream, guard.context(), sizeof(kernels::TailCounts) + 2 * bytes + 128);
  if (read == nullptr) return false;
  PageBatch& batch = *read->batch;
  batch.used = (batch.used + 15) / 16 * 16;
  batch.results = batch.used;
  auto* const counts = batch.take<kernels::TailCounts>(1);
  read->result = counts;
  read->first = batch.take<unsigned char>(bytes);
  read->second = batch.take<unsigned char>(bytes);
  kernels::TailTask task{address_of(t.effective), naive ? address_of(t.naive) : 0,
                         batch.on_device(read->first), batch.on_device(read->second), block};
  devptr results = batch.on_device(counts);
  void* arguments[] = {&task, &results};
  upload_tables(batch);
  launch_one(batch, PageKernel::gather, 256, arguments);
  download_results(batch);
  return close<hitproof_tail_read_t>(*read, [](auto& r) noexcept {
    schema::rec::tail_read record = tail_record(r.announced);
    const auto& found = *static_cast<kernels::TailCounts*>(r.result);
    record.effective_digest =
        schema::sha256(r.first, std::size_t{record.elements} * r.announced.element_bytes);
    record.nonzero = static_cast<std::uint32_t>(found.nonzero);
    record.naive_nonzero = static_cast<std::uint32_t>(found.naive_nonzero);
    record.naive_equal = static_cast<std::uint32_t>(found.equal);
    put_page_record(record, schema::now());
  });
}

bool cuda_pooled_key(const hitproof_pooled_key_t& k) noexcept {
  const DepthGuard depth;
  const ContextGuard guard(k.stream);
  if (k.key_bytes > largest_key || !device_reaches(address_of(k.key), k.key_bytes))
    return unreachable(k.key_bytes);
  if (k.scale != nullptr && !device_reaches(address_of(k.scale), sizeof(float)))
    return unreachable(sizeof(float));
  const std::size_t scale = k.scale == nullptr ? 0 : sizeof(float);
  auto* const read = begin(k, k.stream, guard.context(), k.key_bytes + scale + 128);
  if (read == nullptr) return false;
  PageBatch& batch = *read->batch;
  read->first = batch.take<unsigned char>(k.key_bytes);
  read->second = batch.take<unsigned char>(scale);
  const CudaDriver& d = cuda_driver();
  const auto fetch = [&](unsigned char* to, const void* from, std::size_t n) {
    if (n != 0 && d.download(to, address_of(from), n, batch.stream) != result_success)
      batch.failed = true;
  };
  fetch(read->first, k.key, k.key_bytes);
  fetch(read->second, k.scale, scale);
  return close<hitproof_pooled_key_t>(*read, [](auto& r) noexcept {
    schema::Sha256 hash;
    hash.update(r.first, r.announced.key_bytes);
    if (r.announced.scale != nullptr) hash.update(r.second, sizeof(float));
    schema::rec::pooled_key record = key_record(r.announced);
    record.digest = hash.finish();
    put_page_record(record, schema::now());
  });
}

namespace {
struct Flip {
  hitproof_tail_read_t tail;
  std::uint32_t position;
};
} // namespace

bool cuda_flip(const hitproof_tail_read_t& t, std::uint32_t position) noexcept {
  const DepthGuard depth;
  const ContextGuard guard(t.stream);
  const std::uint32_t slot = newest_slot(t, position);
  const std::size_t extent =
      (std::size_t{slot} * t.stride[1] + std::size_t{t.channels - 1u} * t.stride[2] + 1) *
      t.element_bytes;
  const std::size_t naive_begin = std::size_t{slot} * t.channels * t.element_bytes;
  const std::size_t naive_bytes = std::size_t{t.channels} * t.element_bytes;
  if (!device_reaches(address_of(t.effective), extent)) return unreachable(extent);
  if (flips_naive() && !device_reaches(address_of(t.naive) + naive_begin, naive_bytes))
    return unreachable(naive_bytes);
  auto* const read = begin<Flip>({t, position}, t.stream, guard.context(), 128);
  if (read == nullptr) return false;
  PageBatch& batch = *read->batch;
  batch.used = (batch.used + 15) / 16 * 16;
  batch.results = batch.used;
  read->result = batch.take<std::uint64_t>(1);
  kernels::FlipTask task;
  task.effective = address_of(t.effective);
  task.slot_offset = slot * t.stride[1];
  task.channels = t.channels;
  task.stride_channel = t.stride[2];
  task.element_bytes = t.element_bytes;
  task.target = flips_naive() ? address_of(t.naive) + naive_begin
                              : task.effective + std::uint64_t{task.slot_offset} * t.element_bytes;
  task.target_stride = flips_naive() ? 1 : t.stride[2];
  devptr result = batch.on_device(read->result);
  void* arguments[] = {&task, &result};
  upload_tables(batch);
  launch_one(batch, PageKernel::flip, 128, arguments);
  download_results(batch);
  return close<Flip>(*read, [](auto& r) noexcept {
    put_page_record(
        flip_record(r.announced.tail, r.announced.position, *static_cast<std::uint64_t*>(r.result)),
        schema::now());
  });
}

} // namespace hitproof::probes
