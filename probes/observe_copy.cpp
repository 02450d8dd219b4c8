#include "probes/address_map.h"
#include "probes/coverage.h"
#include "probes/cupti_bytes.h"
#include "probes/libraries.h"
#include "probes/observers.h"
#include "probes/transfer.h"
#include "schema/records.h"

#include <cstring>

namespace hitproof::probes {
namespace {

std::uint64_t stream_of(const Call& call, stream_t stream) noexcept {
  return at(meant(call, stream));
}

struct Place {
  std::uint32_t index = 0, count = 1;
  std::uint8_t access = 0;
};

void put_copy(const Call& call, const Range& range, std::uint64_t stream, std::uint8_t direction,
              const Place& place) noexcept {
  schema::rec::copy r;
  r.src = range.src;
  r.dst = range.dst;
  r.bytes = range.bytes;
  r.stream = stream;
  r.end_ns = call.end_ns;
  r.call_seq = thread_state.call_seq;
  r.call = static_cast<std::uint32_t>(call.id);
  r.version = call.version;
  r.batch_index = place.index;
  r.batch_count = place.count;
  r.result = call.result;
  r.direction = direction;
  r.access_order = place.access;
  const PageHit page = page_of_copy(range.dst, range.src);
  r.transfer = page.transfer;
  r.block = page.block;
  r.entry = page.entry;
  put(call.state(), r, call.begin_ns);
  constexpr std::uint8_t between_devices = 2; // and below: from and to one
  if (direction <= between_devices && range.bytes != 0 && call.result == result_success)
    expect_activity();
}

// True where the call moved nothing and a graph will.
bool became_node(const Call& call, stream_t stream) noexcept {
  if (!captures(meant(call, stream))) return false;
  count(Counter::captured);
  return true;
}

void one(const Call& call, const Range& range, stream_t stream, std::uint8_t access = 0) noexcept {
  if (became_node(call, stream)) return;
  counted(call, range.bytes);
  ++thread_state.call_seq;
  put_copy(call, range, stream_of(call, stream), direction_of(range.dst, range.src),
           {0, 1, access});
}

} // namespace

void counted(const Call& call, std::uint64_t bytes) noexcept {
  if (bytes != 0 && call.result == result_success)
    call.state().bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void copy(const Call& call, std::uint64_t dst, std::uint64_t src, std::uint64_t bytes,
          stream_t stream, std::uint8_t access) noexcept {
  one(call, {dst, src, bytes}, stream, access);
}

void fill(const Call& call, std::uint64_t dst, std::uint64_t bytes, stream_t stream) noexcept {
  // A fill has no source, and so no direction; it matters because it can wipe a page.
  if (became_node(call, stream)) return;
  counted(call, bytes);
  ++thread_state.call_seq;
  constexpr std::uint8_t no_direction = 4;
  put_copy(call, {dst, 0, bytes}, stream_of(call, stream), no_direction, {});
}

void copy_2d(const Call& call, const Copy2D* p, stream_t stream) noexcept {
  if (p == nullptr) return;
  const std::uint64_t src = p->src_type == memory_host ? at(p->src_host) : p->src_device;
  const std::uint64_t dst = p->dst_type == memory_host ? at(p->dst_host) : p->dst_device;
  one(call,
      {dst + p->dst_y * p->dst_pitch + p->dst_x, src + p->src_y * p->src_pitch + p->src_x,
       p->width * p->height},
      stream);
}

void copy_3d(const Call& call, const Copy3D* p, stream_t stream) noexcept {
  if (p != nullptr) one(call, recipe(p), stream);
}
void copy_3d(const Call& call, const RuntimeCopy3D* p, stream_t stream) noexcept {
  if (p != nullptr) one(call, recipe(p), stream);
}
void copy_3d(const Call& call, const RuntimeCopy3DPeer* p, stream_t stream) noexcept {
  if (p != nullptr) one(call, recipe(p), stream);
}

void copy_3d_batch(const Call& call, std::size_t n, const BatchOp3D* ops,
                   stream_t stream) noexcept {
  if (ops == nullptr || became_node(call, stream)) return;
  ++thread_state.call_seq;
  constexpr std::uint32_t pointer = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const BatchOp3D& op = ops[i];
    const Range range{op.dst.type == pointer ? op.dst.pointer.ptr : 0,
                      op.src.type == pointer ? op.src.pointer.ptr : 0,
                      op.extent.x * op.extent.y * op.extent.z};
    counted(call, range.bytes);
    put_copy(call, range, stream_of(call, stream), direction_of(range.dst, range.src),
             {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(n),
              static_cast<std::uint8_t>(op.src_access_order)});
  }
}

void copy_batch(const Call& call, void* const* dsts, const void* const* srcs,
                const std::size_t* sizes, std::size_t n, const CopyAttributes* attributes,
                const std::size_t* starts, std::size_t attribute_count, stream_t stream) noexcept {
  if (dsts == nullptr || srcs == nullptr || sizes == nullptr || became_node(call, stream)) return;
  ++thread_state.call_seq;
  const std::uint64_t on = stream_of(call, stream);
  std::size_t attribute = 0; // attributes[k] holds for entries starts[k] .. starts[k + 1] - 1
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < n; ++i) {
    while (starts != nullptr && attribute + 1 < attribute_count && starts[attribute + 1] <= i)
      ++attribute;
    const std::uint8_t access =
        attributes != nullptr && attribute_count > 0 ? access_order(&attributes[attribute]) : 0;
    const Range range{at(dsts[i]), at(srcs[i]), sizes[i]};
    bytes += range.bytes;
    put_copy(call, range, on, direction_of(range.dst, range.src),
             {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(n), access});
  }
  counted(call, bytes);
}

void copy_graph(const Call& call, const Range* ranges, std::size_t n, std::size_t first,
                std::size_t total, stream_t stream) noexcept {
  if (first == 0) ++thread_state.call_seq;
  const std::uint64_t on = stream_of(call, stream);
  for (std::size_t i = 0; i < n; ++i) {
    const Range& range = ranges[i];
    counted(call, range.bytes);
    put_copy(call, range, on, direction_of(range.dst, range.src),
             {static_cast<std::uint32_t>(first + i), static_cast<std::uint32_t>(total), 0});
  }
}

bool runtime_has_fail_index() noexcept {
  // The mapped runtime does not change: two of them make the probe stay out.
  static std::atomic<int> answer{-1};
  int known = answer.load(std::memory_order_relaxed);
  if (known < 0) {
    known = std::strstr(cuda_libraries().runtime, "libcudart.so.12") != nullptr;
    answer.store(known, std::memory_order_relaxed);
  }
  return known != 0;
}

} // namespace hitproof::probes
