#include "probes/coverage.h"
#include "probes/observers.h"

#include <atomic>
#include <new>
#include <unordered_map>
#include <vector>

namespace hitproof::probes {
namespace {

struct CopyNode {
  node_t node;
  Range range;
};
// A node that records an event, or waits for one, at every launch.
struct EventNode {
  node_t node;
  event_t event;
  bool waits;
};
struct Nodes {
  std::vector<CopyNode> copies;
  std::vector<EventNode> events;
};

// Of every executable graph. Made on first use and never destroyed: hooks run until the last
// instruction of the process.
SpinLock lock;
std::unordered_map<exec_t, Nodes>* execs = nullptr;
std::atomic<std::int32_t> captures_running{0};

struct Driver {
  int (*nodes)(graph_t, node_t*, std::size_t*);
  int (*type)(node_t, int*);
  int (*copy_params)(node_t, Copy3D*);
  int (*child)(node_t, graph_t*);
  int (*recorded)(node_t, event_t*);
  int (*waited)(node_t, event_t*);
  int (*is_capturing)(stream_t, int*);
};

template <class F> F driver_function(const char* symbol) noexcept {
  return reinterpret_cast<F>(find_driver_symbol(symbol));
}

const Driver& driver() noexcept {
  static std::atomic<bool> ready{false};
  static Driver functions;
  static SpinLock once;
  if (!ready.load(std::memory_order_acquire)) {
    const LockGuard guard(once);
    functions = {driver_function<decltype(Driver::nodes)>("cuGraphGetNodes"),
                 driver_function<decltype(Driver::type)>("cuGraphNodeGetType"),
                 driver_function<decltype(Driver::copy_params)>("cuGraphMemcpyNodeGetParams"),
                 driver_function<decltype(Driver::child)>("cuGraphChildGraphNodeGetGraph"),
                 driver_function<decltype(Driver::recorded)>("cuGraphEventRecordNodeGetEvent"),
                 driver_function<decltype(Driver::waited)>("cuGraphEventWaitNodeGetEvent"),
                 driver_function<decltype(Driver::is_capturing)>("cuStreamIsCapturing")};
    ready.store(true, std::memory_order_release);
  }
  return functions;
}

// Under the lock; null where the graph was made unseen.
Nodes* nodes_of(exec_t exec) noexcept {
  if (execs == nullptr) return nullptr;
  const auto found = execs->find(exec);
  return found == execs->end() ? nullptr : &found->second;
}

bool read_event(node_t node, bool waits, Nodes& out) {
  const auto get = waits ? driver().waited : driver().recorded;
  event_t event = nullptr;
  if (get == nullptr || get(node, &event) != result_success) return false;
  out.events.push_back({node, event, waits});
  return true;
}

// Reads the copy and event nodes of a graph, those of its child graphs included; false where the
// driver cannot tell, and where a condition decides at run time what a launch does.
bool read_nodes(graph_t graph, Nodes& out, int depth = 0) {
  constexpr int type_memcpy = 1, type_child = 4, type_wait_event = 6, type_event_record = 7,
                type_conditional = 13, max_depth = 16;
  const Driver& d = driver();
  std::size_t n = 0;
  if (d.nodes == nullptr || d.type == nullptr || d.copy_params == nullptr || depth > max_depth)
    return false;
  if (d.nodes(graph, nullptr, &n) != result_success) return false;
  std::vector<node_t> nodes(n);
  if (n != 0 && d.nodes(graph, nodes.data(), &n) != result_success) return false;
  nodes.resize(n < nodes.size() ? n : nodes.size());
  bool complete = true;
  for (node_t node : nodes) {
    int type = -1;
    if (d.type(node, &type) != result_success) {
      complete = false;
    } else if (type == type_memcpy) {
      Copy3D copy{};
      if (d.copy_params(node, &copy) != result_success)
        complete = false;
      else
        out.copies.push_back({node, recipe(&copy)});
    } else if (type == type_wait_event || type == type_event_record) {
      complete = read_event(node, type == type_wait_event, out) && complete;
    } else if (type == type_conditional) {
      complete = false;
    } else if (type == type_child) {
      graph_t child = nullptr;
      if (d.child == nullptr || d.child(node, &child) != result_success)
        complete = false;
      else
        complete = read_nodes(child, out, depth + 1) && complete;
    }
  }
  return complete;
}

void keep(exec_t exec, graph_t graph) noexcept {
  // Building a graph is no hot path; still, memory may be short, and nothing may be thrown.
  try {
    Nodes nodes;
    if (!read_nodes(graph, nodes)) count(Counter::graph_unreadable);
    const LockGuard guard(lock);
    if (execs == nullptr) execs = new std::unordered_map<exec_t, Nodes>;
    (*execs)[exec] = std::move(nodes);
  } catch (const std::bad_alloc&) {
    count_dropped(Counter::graph_unreadable);
  }
}

Range linear(std::uint64_t dst, std::uint64_t src, std::uint64_t bytes) noexcept {
  return {dst, src, bytes};
}

} // namespace

bool captures(stream_t stream) noexcept {
  if (captures_running.load(std::memory_order_relaxed) <= 0) return false;
  const Driver& d = driver();
  int status = 0;
  // A stream joins a capture by waiting for one of its events, so only the driver knows.
  if (d.is_capturing == nullptr || d.is_capturing(stream, &status) != result_success) return false;
  return status != 0;
}

void capture_began(const Call& call) noexcept {
  if (call.result == result_success) captures_running.fetch_add(1, std::memory_order_relaxed);
}

void capture_ended(const Call& call) noexcept {
  // A capture that was invalidated ends with an error, but ends.
  if (captures_running.load(std::memory_order_relaxed) > 0)
    captures_running.fetch_sub(1, std::memory_order_relaxed);
}

Range recipe(const Copy3D* p) noexcept {
  if (p == nullptr) return {};
  const auto side = [](std::uint32_t type, const void* host, devptr device, std::size_t x,
                       std::size_t y, std::size_t z, std::size_t pitch, std::size_t height) {
    const std::uint64_t base = type == memory_host ? at(host) : type == memory_array ? 0 : device;
    return base == 0 ? 0 : base + (z * height + y) * pitch + x;
  };
  return linear(side(p->dst_type, p->dst_host, p->dst_device, p->dst_x, p->dst_y, p->dst_z,
                     p->dst_pitch, p->dst_height),
                side(p->src_type, p->src_host, p->src_device, p->src_x, p->src_y, p->src_z,
                     p->src_pitch, p->src_height),
                p->width * p->height * p->depth);
}

namespace {
std::uint64_t start_of(const Pitched& p, const Position& pos) noexcept {
  return p.ptr == nullptr ? 0 : at(p.ptr) + (pos.z * p.y_size + pos.y) * p.pitch + pos.x;
}
} // namespace

Range recipe(const RuntimeCopy3D* p) noexcept {
  if (p == nullptr) return {};
  return linear(start_of(p->dst, p->dst_pos), start_of(p->src, p->src_pos),
                p->extent.x * p->extent.y * p->extent.z);
}
Range recipe(const RuntimeCopy3DPeer* p) noexcept {
  if (p == nullptr) return {};
  return linear(start_of(p->dst, p->dst_pos), start_of(p->src, p->src_pos),
                p->extent.x * p->extent.y * p->extent.z);
}
Range driver_recipe(const GraphNodeParams* p) noexcept {
  return p != nullptr && p->type == graph_node_memcpy ? recipe(&p->driver_copy.copy) : Range{};
}
Range runtime_recipe(const GraphNodeParams* p) noexcept {
  return p != nullptr && p->type == graph_node_memcpy ? recipe(&p->runtime_copy.copy) : Range{};
}

void instantiated(const Call& call, exec_t* exec, graph_t graph) noexcept {
  if (call.result == result_success && exec != nullptr) keep(*exec, graph);
}

void exec_updated(const Call& call, exec_t exec, graph_t graph) noexcept {
  if (call.result != result_success) return;
  // The executable graph keeps the node handles of the graph it was made from: only ranges and
  // events change.
  try {
    Nodes fresh;
    if (!read_nodes(graph, fresh)) count(Counter::graph_unreadable);
    const LockGuard guard(lock);
    if (execs == nullptr) return;
    Nodes& nodes = (*execs)[exec];
    if (nodes.copies.size() != fresh.copies.size() || nodes.events.size() != fresh.events.size()) {
      nodes = std::move(fresh);
      return;
    }
    for (std::size_t i = 0; i < fresh.copies.size(); ++i)
      nodes.copies[i].range = fresh.copies[i].range;
    for (std::size_t i = 0; i < fresh.events.size(); ++i)
      nodes.events[i].event = fresh.events[i].event;
  } catch (const std::bad_alloc&) {
    count_dropped(Counter::graph_unreadable);
  }
}

void exec_node_changed(const Call& call, exec_t exec, node_t node, Range range) noexcept {
  if (call.result != result_success || range.bytes == 0) return;
  const LockGuard guard(lock);
  Nodes* const nodes = nodes_of(exec);
  if (nodes == nullptr) return;
  for (CopyNode& copy : nodes->copies) {
    if (copy.node == node) copy.range = range;
  }
}

void exec_event_changed(const Call& call, exec_t exec, node_t node, event_t event) noexcept {
  if (call.result != result_success || event == nullptr) return;
  const LockGuard guard(lock);
  Nodes* const nodes = nodes_of(exec);
  if (nodes == nullptr) return;
  for (EventNode& known : nodes->events) {
    if (known.node == node) known.event = event;
  }
}

void exec_params_changed(const Call& call, exec_t exec, node_t node, const GraphNodeParams* p,
                         Range range) noexcept {
  if (p == nullptr) return;
  if (p->type == graph_node_wait_event || p->type == graph_node_event_record)
    exec_event_changed(call, exec, node, p->event);
  else
    exec_node_changed(call, exec, node, range);
}

namespace {

// The events that a launch records, or waits for.
void launched_events(const Call& call, exec_t exec, stream_t stream, bool waits) noexcept {
  for (std::size_t next = 0;;) {
    event_t event = nullptr;
    {
      const LockGuard guard(lock);
      const Nodes* const nodes = nodes_of(exec);
      if (nodes == nullptr) return;
      const std::vector<EventNode>& events = nodes->events;
      while (next < events.size() && events[next].waits != waits)
        ++next;
      if (next == events.size()) return;
      event = events[next++].event;
    }
    event_of_graph(call, waits ? op_stream_wait_event : op_event_record, stream, event);
  }
}

// Rows are written in pieces, so that no memory is needed and the lock is not held while writing.
void launched_copies(const Call& call, exec_t exec, stream_t stream) noexcept {
  constexpr std::size_t piece = 64;
  std::size_t begin = 0, total = 0;
  do {
    Range ranges[piece];
    std::size_t n = 0;
    {
      const LockGuard guard(lock);
      const Nodes* const nodes = nodes_of(exec);
      if (nodes == nullptr) {
        count(Counter::graph_unreadable);
        return;
      }
      const std::vector<CopyNode>& copies = nodes->copies;
      total = copies.size();
      for (; n < piece && begin + n < total; ++n)
        ranges[n] = copies[begin + n].range;
    }
    copy_graph(call, ranges, n, begin, total, stream);
    begin += n;
  } while (begin < total);
}

} // namespace

void launched(const Call& call, exec_t exec, stream_t stream) noexcept {
  if (captures(meant(call, stream))) {
    count(Counter::captured);
    return;
  }
  // In which order the nodes run shows nowhere. What a record stands for comes before the launch,
  // and what a wait stands before comes after it, so copies of the launch are between them.
  launched_events(call, exec, stream, false);
  launched_copies(call, exec, stream);
  launched_events(call, exec, stream, true);
}

void exec_gone(exec_t exec) noexcept {
  const LockGuard guard(lock);
  if (execs != nullptr) execs->erase(exec);
}

void forget_graphs_after_fork() noexcept {
  lock.reset();
  captures_running.store(0, std::memory_order_relaxed);
}

} // namespace hitproof::probes
