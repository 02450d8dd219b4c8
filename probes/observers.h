// What hooks write down. Called by the wrappers after (some before) the real call, on the calling
// thread, with the depth guard held; none of these allocates for a copy or an order operation.
#pragma once

#include "probes/cuda_abi.h"
#include "probes/intercept.h"

#include <cstdint>

namespace hitproof::probes {

inline void none() noexcept {}
inline std::uint64_t at(const void* p) noexcept { return reinterpret_cast<std::uint64_t>(p); }
inline std::uint64_t at(devptr p) noexcept { return p; }
inline std::uint64_t at(host_fn f) noexcept { return reinterpret_cast<std::uint64_t>(f); }
inline stream_t as_stream(std::uint64_t handle) noexcept {
  return reinterpret_cast<stream_t>(handle);
}
// The null stream is two streams: which one depends on the form of the call.
inline stream_t meant(const Call& call, stream_t stream) noexcept {
  constexpr std::uint64_t per_thread_stream = 2;
  return stream == nullptr && call.per_thread ? as_stream(per_thread_stream) : stream;
}
// The handle that a successful call wrote, else null.
inline void* made(const Call& call, void* const* out) noexcept {
  return call.result == result_success && out != nullptr ? *out : nullptr;
}

// A call of which nothing but its number and bytes can be seen.
void counted(const Call& call, std::uint64_t bytes) noexcept;
// Bytes of a batch by its list of sizes; 0 where there is none.
inline std::uint64_t total(const std::size_t* sizes, std::size_t count) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; sizes != nullptr && i < count; ++i)
    sum += sizes[i];
  return sum;
}

// ---- copies (observe_copy.cpp)
struct Range {
  std::uint64_t dst, src, bytes;
};
inline std::uint8_t access_order(const CopyAttributes* a) noexcept {
  return a == nullptr ? 0 : static_cast<std::uint8_t>(a->src_access_order);
}
void copy(const Call& call, std::uint64_t dst, std::uint64_t src, std::uint64_t bytes,
          stream_t stream, std::uint8_t access = 0) noexcept;
void fill(const Call& call, std::uint64_t dst, std::uint64_t bytes, stream_t stream) noexcept;
void copy_2d(const Call& call, const Copy2D* p, stream_t stream) noexcept;
void copy_3d(const Call& call, const Copy3D* p, stream_t stream) noexcept;
void copy_3d(const Call& call, const RuntimeCopy3D* p, stream_t stream) noexcept;
void copy_3d(const Call& call, const RuntimeCopy3DPeer* p, stream_t stream) noexcept;
void copy_3d_batch(const Call& call, std::size_t count, const BatchOp3D* ops,
                   stream_t stream) noexcept;
void copy_batch(const Call& call, void* const* dsts, const void* const* srcs,
                const std::size_t* sizes, std::size_t count, const CopyAttributes* attributes,
                const std::size_t* starts, std::size_t attribute_count, stream_t stream) noexcept;
inline void copy_batch(const Call& call, void* const* dsts, void* const* srcs,
                       const std::size_t* sizes, std::size_t count,
                       const CopyAttributes* attributes, const std::size_t* starts,
                       std::size_t attribute_count, stream_t stream) noexcept {
  copy_batch(call, dsts, const_cast<const void* const*>(srcs), sizes, count, attributes, starts,
             attribute_count, stream);
}
// Copies of one launch of a graph: `count` of its `total` copy nodes, from number `first` on. All
// rows of a launch share the call number.
void copy_graph(const Call& call, const Range* ranges, std::size_t count, std::size_t first,
                std::size_t total, stream_t stream) noexcept;
// libcudart.so.12 has an argument more in its batch calls.
bool runtime_has_fail_index() noexcept;

// ---- order (observe_order.cpp)
enum OrderOp : std::uint8_t {
  op_event_create = 0,
  op_event_destroy = 1,
  op_event_record = 2,
  op_event_query = 3,
  op_event_synchronize = 4,
  op_stream_wait_event = 5,
  op_stream_synchronize = 6,
  op_stream_query = 7,
  op_device_synchronize = 8,
  op_host_function = 9,
  op_write_value = 10,
  op_wait_value = 11,
  op_event_export = 12,
  op_event_open = 13,
  op_stream_create = 14,
  op_stream_destroy = 15,
  op_kernel_launch = 16
};
void order(const Call& call, OrderOp op, stream_t stream, event_t event) noexcept;
void event_recorded(const Call& call, stream_t stream, event_t event, unsigned flags) noexcept;
// A node of the graph that the call launched records the event, or waits for it.
void event_of_graph(const Call& call, OrderOp op, stream_t stream, event_t event) noexcept;
void event_handle(const Call& call, OrderOp op, event_t event, const IpcHandle* handle) noexcept;
void host_function(const Call& call, stream_t stream, std::uint64_t function) noexcept;
void memory_op(const Call& call, OrderOp op, stream_t stream, devptr address,
               std::uint64_t value) noexcept;
void memory_ops(const Call& call, stream_t stream, unsigned count, const BatchMemOp* ops) noexcept;
void device_chosen(const Call& call, int device) noexcept;
void context_chosen(const Call& call) noexcept;

// ---- address map (observe_memory.cpp); a pointer to the pointer that the call wrote
void allocated(const Call& call, std::uint64_t address, std::uint64_t bytes) noexcept;
void allocated_managed(const Call& call, std::uint64_t address, std::uint64_t bytes) noexcept;
void host_allocated(const Call& call, std::uint64_t address, std::uint64_t bytes) noexcept;
template <class P> std::uint64_t written(const Call& call, P* out) noexcept {
  return call.result == result_success && out != nullptr ? at(*out) : 0;
}
template <class P> void allocated(const Call& c, P* out, std::uint64_t bytes) noexcept {
  allocated(c, written(c, out), bytes);
}
template <class P> void allocated_managed(const Call& c, P* out, std::uint64_t bytes) noexcept {
  allocated_managed(c, written(c, out), bytes);
}
template <class P> void host_allocated(const Call& c, P* out, std::uint64_t bytes) noexcept {
  host_allocated(c, written(c, out), bytes);
}
void host_registered(const Call& call, void* p, std::uint64_t bytes) noexcept;
// Takes the range out of the map; the record follows when the call has returned.
void forget_range(std::uint64_t address) noexcept;
template <class P> void freeing(const Call&, P p) noexcept { forget_range(at(p)); }
void gone(const Call& call, std::uint64_t address, std::uint8_t op) noexcept;
template <class P> void freed(const Call& c, P p) noexcept { gone(c, at(p), 1); }
template <class P> void host_freed(const Call& c, P p) noexcept { gone(c, at(p), 3); }
template <class P> void host_unregistered(const Call& c, P p) noexcept { gone(c, at(p), 5); }
template <class P> void ipc_closed(const Call& c, P p) noexcept { gone(c, at(p), 8); }
void ipc_exported(const Call& call, std::uint64_t address, const IpcHandle* handle) noexcept;
inline void ipc_exported(const Call& c, void* p, const IpcHandle* h) noexcept {
  ipc_exported(c, at(p), h);
}
void ipc_opened(const Call& call, std::uint64_t address, const IpcHandle* handle) noexcept;
template <class P> void ipc_opened(const Call& c, P* out, const IpcHandle* h) noexcept {
  ipc_opened(c, written(c, out), h);
}

// ---- kernels (observe_launch.cpp)
void kernel_launched(const Call& call, void* function, void* const* parameters,
                     stream_t stream) noexcept;
// A row of the order for a launch of kernel `number` (fact `kernel.<number>` is its name).
void launch_ordered(const Call& call, stream_t stream, std::uint64_t number) noexcept;
// True once this process has opened memory of another one.
bool has_imported_memory() noexcept;
// CUlaunchConfig: two times three sizes and the shared memory before the stream.
inline stream_t stream_of_launch(const void* config) noexcept {
  struct Head {
    unsigned sizes[7];
    stream_t stream;
  };
  return config == nullptr ? nullptr : static_cast<const Head*>(config)->stream;
}

// ---- graphs (observe_graph.cpp)
void capture_began(const Call& call) noexcept;
void capture_ended(const Call& call) noexcept;
// True where a call on this stream only becomes a node of a graph.
bool captures(stream_t stream) noexcept;
Range recipe(const Copy3D* p) noexcept;
Range recipe(const RuntimeCopy3D* p) noexcept;
Range recipe(const RuntimeCopy3DPeer* p) noexcept;
inline Range recipe(void* dst, const void* src, std::uint64_t bytes) noexcept {
  return {at(dst), at(src), bytes};
}
Range driver_recipe(const GraphNodeParams* p) noexcept;
Range runtime_recipe(const GraphNodeParams* p) noexcept;
void instantiated(const Call& call, exec_t* exec, graph_t graph) noexcept;
void exec_updated(const Call& call, exec_t exec, graph_t graph) noexcept;
void exec_node_changed(const Call& call, exec_t exec, node_t node, Range range) noexcept;
void exec_event_changed(const Call& call, exec_t exec, node_t node, event_t event) noexcept;
// `range`: of a copy node.
void exec_params_changed(const Call& call, exec_t exec, node_t node, const GraphNodeParams* p,
                         Range range) noexcept;
void launched(const Call& call, exec_t exec, stream_t stream) noexcept;
void exec_gone(exec_t exec) noexcept;

} // namespace hitproof::probes
