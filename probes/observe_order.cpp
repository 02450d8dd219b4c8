#include "probes/coverage.h"
#include "probes/hitproof.h"
#include "probes/observers.h"
#include "probes/process_state.h"
#include "schema/records.h"
#include "schema/sha256.h"

namespace hitproof::probes {
namespace {

schema::rec::order_op start(const Call& call, OrderOp op, stream_t stream,
                            std::uint64_t event) noexcept {
  write_hook_records_once(); // a process may order and move nothing
  schema::rec::order_op r;
  r.stream = at(meant(call, stream));
  r.event = event;
  r.end_ns = call.end_ns;
  r.result = call.result;
  r.call = static_cast<std::uint32_t>(call.id);
  r.op = op;
  r.device = static_cast<std::uint8_t>(thread_state.device);
  return r;
}

// Under capture these calls order nothing at run time: they become edges or nodes of a graph.
bool only_edge(const Call& call, stream_t stream) noexcept {
  if (!captures(meant(call, stream))) return false;
  count(Counter::captured);
  return true;
}

// Events that the program declared its own; 0: a free place. Looked through at every record and
// wait, so there is no room for more than a few ranks' worth.
constexpr std::size_t internal_room = 256;
std::atomic<std::uint64_t> internal_events[internal_room];
std::atomic<std::size_t> internal_used{0};

std::atomic<std::uint64_t>* internal(std::uint64_t event) noexcept {
  const std::size_t used = internal_used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i)
    if (internal_events[i].load(std::memory_order_relaxed) == event) return &internal_events[i];
  return nullptr;
}

} // namespace

HITPROOF_EXPORT void hitproof_internal_event(void* event) {
  if (event == nullptr || !recording() || internal(at(event)) != nullptr) return;
  for (std::size_t i = 0; i < internal_room; ++i) {
    std::uint64_t free = 0;
    if (!internal_events[i].compare_exchange_strong(free, at(event))) continue;
    std::size_t used = internal_used.load();
    while (used < i + 1 && !internal_used.compare_exchange_weak(used, i + 1)) {
    }
    schema::rec::meta r;
    schema::set_text(r.name, "internal_event");
    schema::set_text(r.value, "records of it and waits for it are counted only");
    schema::journal(r);
    return;
  }
}

void launch_ordered(const Call& call, stream_t stream, std::uint64_t number) noexcept {
  if (only_edge(call, stream)) return;
  schema::rec::order_op r = start(call, op_kernel_launch, stream, 0);
  r.value = number;
  put(call.state(), r, call.begin_ns);
}

void order(const Call& call, OrderOp op, stream_t stream, event_t event) noexcept {
  if (op == op_stream_wait_event && only_edge(call, stream)) return;
  if (std::atomic<std::uint64_t>* declared = event == nullptr ? nullptr : internal(at(event))) {
    if (op == op_stream_wait_event) return;
    // The handle may come back as another event.
    if (op == op_event_destroy) declared->store(0);
  }
  put(call.state(), start(call, op, stream, at(event)), call.begin_ns);
}

void event_recorded(const Call& call, stream_t stream, event_t event, unsigned flags) noexcept {
  // An external record becomes a node that records at every launch (event_of_graph).
  if (only_edge(call, stream) || internal(at(event)) != nullptr) return;
  put(call.state(), start(call, op_event_record, stream, at(event)), call.begin_ns);
}

void event_of_graph(const Call& call, OrderOp op, stream_t stream, event_t event) noexcept {
  if (internal(at(event)) == nullptr)
    put(call.state(), start(call, op, stream, at(event)), call.begin_ns);
}

void event_handle(const Call& call, OrderOp op, event_t event, const IpcHandle* handle) noexcept {
  schema::rec::order_op r = start(call, op, nullptr, at(event));
  if (handle != nullptr && (op == op_event_open || call.result == result_success)) {
    r.handle = schema::sha256(handle->bytes, sizeof handle->bytes);
  }
  put(call.state(), r, call.begin_ns);
}

void host_function(const Call& call, stream_t stream, std::uint64_t function) noexcept {
  if (only_edge(call, stream)) return;
  schema::rec::order_op r = start(call, op_host_function, stream, 0);
  r.value = function;
  put(call.state(), r, call.begin_ns);
}

void memory_op(const Call& call, OrderOp op, stream_t stream, devptr address,
               std::uint64_t value) noexcept {
  if (only_edge(call, stream)) return;
  schema::rec::order_op r = start(call, op, stream, address);
  r.value = value;
  put(call.state(), r, call.begin_ns);
}

void memory_ops(const Call& call, stream_t stream, unsigned n, const BatchMemOp* ops) noexcept {
  if (ops == nullptr || only_edge(call, stream)) return;
  enum : std::uint32_t { wait32 = 1, write32 = 2, wait64 = 4, write64 = 5 };
  for (unsigned i = 0; i < n; ++i) {
    const BatchMemOp& op = ops[i];
    const bool wide = op.operation == wait64 || op.operation == write64;
    const bool waits = op.operation == wait32 || op.operation == wait64;
    if (!wide && !waits && op.operation != write32) continue; // flush and barrier name no value
    schema::rec::order_op r =
        start(call, waits ? op_wait_value : op_write_value, stream, op.address);
    r.value = wide ? op.value : op.value & 0xffffffffu;
    put(call.state(), r, call.begin_ns);
  }
}

void device_chosen(const Call& call, int device) noexcept {
  if (call.result == result_success) thread_state.device = device;
}

void context_chosen(const Call& call) noexcept {
  using Get = int (*)(int*);
  if (call.result != result_success) return;
  static std::atomic<void*> found{nullptr};
  void* get = found.load(std::memory_order_relaxed);
  if (get == nullptr) {
    get = find_driver_symbol("cuCtxGetDevice");
    found.store(get, std::memory_order_relaxed);
  }
  int device = 0;
  if (get != nullptr && reinterpret_cast<Get>(get)(&device) == result_success)
    thread_state.device = device;
}

} // namespace hitproof::probes
