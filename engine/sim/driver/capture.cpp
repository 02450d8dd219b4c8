// Stream capture: calls on a capturing stream become nodes, and event edges spread the capture.
#include "engine/sim/driver/graph.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace hitproof::sim {
namespace {

std::atomic<int> active_captures{0};
std::atomic<uint64_t> next_capture_id{1};
std::vector<std::weak_ptr<Capture>>& captures() {
  static auto& instance = *new std::vector<std::weak_ptr<Capture>>;
  return instance;
}
thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

bool nothing_captured() { return active_captures.load(std::memory_order_acquire) == 0; }

// The nodes that come before these, and these.
std::unordered_set<const Node*> closure(const std::vector<Node*>& last) {
  std::unordered_set<const Node*> reached;
  std::vector<const Node*> open(last.begin(), last.end());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (reached.insert(node).second)
      open.insert(open.end(), node->after.begin(), node->after.end());
  }
  return reached;
}

// Work on the legacy stream would wait for blocking streams, which a capture cannot do.
bool legacy_forbidden(const Capture& capture) {
  if (capture.origin->kind != Stream::Kind::blocking || capture.invalid) return false;
  if (capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
      thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
    return false;
  return capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
         capture.thread == std::this_thread::get_id();
}

// Takes every stream out of the capture.
void leave(Capture& capture, Stream& origin) {
  for (const auto& weak : capture.joined) {
    auto other = weak.lock();
    if (other && other->capturing.capture.get() == &capture) other->capturing = {};
  }
  origin.capturing = {};
  active_captures.fetch_sub(1, std::memory_order_acq_rel);
}

CUresult check_legacy() {
  for (const auto& weak : captures()) {
    auto capture = weak.lock();
    if (capture && legacy_forbidden(*capture)) {
      capture->invalid = true;
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
  }
  return CUDA_SUCCESS;
}

} // namespace

std::mutex& graph_mutex() {
  static auto& instance = *new std::mutex;
  return instance;
}

CUstreamCaptureMode exchange_capture_mode(CUstreamCaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

Admission admit(Stream& stream) {
  if (nothing_captured()) return {CUDA_SUCCESS, false};
  std::lock_guard lock(graph_mutex());
  if (const auto& capture = stream.capturing.capture) {
    if (capture->invalid) return {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, false};
    return {CUDA_SUCCESS, true};
  }
  if (stream.kind == Stream::Kind::legacy) return {check_legacy(), false};
  return {CUDA_SUCCESS, false};
}

CUresult refuse_while_capturing(Stream& stream) {
  if (nothing_captured()) return CUDA_SUCCESS;
  std::lock_guard lock(graph_mutex());
  if (const auto& capture = stream.capturing.capture) {
    capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return stream.kind == Stream::Kind::legacy ? check_legacy() : CUDA_SUCCESS;
}

CUresult capture_node(Stream& stream, CUgraphNodeType type, Work work) {
  std::lock_guard lock(graph_mutex());
  CaptureSide& side = stream.capturing;
  if (!side.capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto node = new_node(*side.capture->graph, type, std::move(work), side.frontier);
  side.frontier = {node.get()};
  return CUDA_SUCCESS;
}

CUresult capture_record(Stream& stream, const std::shared_ptr<Event>& event, bool external) {
  if (external) return capture_node(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, RecordOp{event});
  std::lock_guard lock(graph_mutex());
  event->capture = stream.capturing.capture;
  event->capture_frontier = stream.capturing.frontier;
  return CUDA_SUCCESS;
}

bool capture_wait(Stream& stream, const std::shared_ptr<Event>& event, bool external,
                  CUresult& result) {
  if (nothing_captured()) return false;
  std::lock_guard lock(graph_mutex());
  CaptureSide& side = stream.capturing;
  result = CUDA_SUCCESS;
  if (external) {
    if (!side.capture) return false;
    auto node =
        new_node(*side.capture->graph, CU_GRAPH_NODE_TYPE_WAIT_EVENT, WaitOp{event}, side.frontier);
    side.frontier = {node.get()};
    return true;
  }
  auto source = event->capture.lock();
  if (!source) {
    if (!side.capture) return false;
    // A capture cannot wait for work that is outside of it.
    side.capture->invalid = true;
    result = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    return true;
  }
  if (side.capture && side.capture != source) {
    side.capture->invalid = source->invalid = true;
    result = CUDA_ERROR_STREAM_CAPTURE_MERGE;
    return true;
  }
  if (!side.capture) {
    side.capture = source;
    source->joined.push_back(stream.weak_from_this());
  }
  for (Node* node : event->capture_frontier)
    if (std::find(side.frontier.begin(), side.frontier.end(), node) == side.frontier.end())
      side.frontier.push_back(node);
  return true;
}

CUresult refuse_captured(Event& event) {
  if (nothing_captured()) return CUDA_SUCCESS;
  std::lock_guard lock(graph_mutex());
  auto capture = event.capture.lock();
  if (!capture) return CUDA_SUCCESS;
  capture->invalid = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

void forget_capture(Event& event) {
  if (nothing_captured()) return;
  std::lock_guard lock(graph_mutex());
  event.capture.reset();
  event.capture_frontier.clear();
}

CUresult begin_capture(Stream& stream, CUstreamCaptureMode mode) {
  if (stream.kind == Stream::Kind::legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(graph_mutex());
  if (stream.capturing.capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->graph = std::make_shared<Graph>();
  capture->origin = &stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = next_capture_id++;
  stream.capturing = {capture, {}};
  std::erase_if(captures(), [](const auto& weak) { return weak.expired(); });
  captures().push_back(capture);
  active_captures.fetch_add(1, std::memory_order_acq_rel);
  return CUDA_SUCCESS;
}

CUresult end_capture(Stream& stream, CUgraph& graph) {
  std::lock_guard lock(graph_mutex());
  auto capture = stream.capturing.capture;
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != &stream) {
    capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  const auto reached = closure(stream.capturing.frontier);
  bool joined_back = true;
  for (const auto& weak : capture->joined) {
    auto other = weak.lock();
    if (!other || other->capturing.capture != capture) continue;
    for (const Node* node : other->capturing.frontier)
      joined_back = joined_back && reached.contains(node);
  }
  leave(*capture, stream);
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined_back) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  graph = capture->graph->handle();
  publish_graph(capture->graph);
  return CUDA_SUCCESS;
}

void abandon_capture(Stream& stream) {
  if (nothing_captured()) return;
  std::lock_guard lock(graph_mutex());
  auto capture = stream.capturing.capture;
  if (!capture) return;
  capture->invalid = true;
  if (capture->origin == &stream) leave(*capture, stream);
}

CUstreamCaptureStatus capture_status(Stream& stream, uint64_t& id, Graph*& graph) {
  std::lock_guard lock(graph_mutex());
  const auto& capture = stream.capturing.capture;
  if (!capture) return CU_STREAM_CAPTURE_STATUS_NONE;
  id = capture->id;
  graph = capture->graph.get();
  return capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

} // namespace hitproof::sim
