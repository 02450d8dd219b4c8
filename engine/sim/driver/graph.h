// Graphs: nodes, capture of streams into them, executable copies with nodes that can be rebound.
// One mutex guards all of it; nothing here is on the path of work that is not captured.
#pragma once

#include "engine/sim/driver/copy.h"
#include "engine/sim/driver/event.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

namespace hitproof::sim {

struct HostOp {
  CUhostFn fn = nullptr;
  void* user_data = nullptr;
};
struct RecordOp {
  std::shared_ptr<Event> event;
};
struct WaitOp {
  std::shared_ptr<Event> event;
};
using Work = std::variant<std::monostate, CopyOp, FillOp, HostOp, RecordOp, WaitOp>;

struct Graph;

struct Node {
  CUgraphNodeType type;
  Work work;
  CUDA_MEMCPY3D copy_params{}; // as given, for memcpy nodes
  std::vector<Node*> after;
  Graph* graph;

  CUgraphNode handle() { return reinterpret_cast<CUgraphNode>(this); }
};

struct Graph {
  std::vector<std::shared_ptr<Node>> nodes; // in the order of their making

  CUgraph handle() { return reinterpret_cast<CUgraph>(this); }
};

struct ExecNode {
  Work work;
  std::vector<uint32_t> after; // earlier positions
};

struct GraphExec {
  std::mutex mutex;
  std::shared_ptr<std::vector<ExecNode>> nodes; // in a topological order; replaced, never changed
  std::unordered_map<const Node*, uint32_t> position;
  std::shared_ptr<Graph> source; // keeps the nodes, so that no later node has an address of theirs

  CUgraphExec handle() { return reinterpret_cast<CUgraphExec>(this); }
};

struct Capture {
  std::shared_ptr<Graph> graph;
  Stream* origin;
  CUstreamCaptureMode mode;
  std::thread::id thread;
  uint64_t id;
  bool invalid = false;
  std::vector<std::weak_ptr<Stream>> joined; // the streams besides the origin
};

std::mutex& graph_mutex();

/// Copy parameters of a node that was captured, so that they can be read back.
CUDA_MEMCPY3D params_of(const CopyOp& op);

/// What becomes of work for this stream: run it, make a node of it, or an error.
struct Admission {
  CUresult result;
  bool capture;
};
Admission admit(Stream& stream);
/// Error (and end of the capture) for calls that a capturing stream does not allow.
CUresult refuse_while_capturing(Stream& stream);

CUresult capture_node(Stream& stream, CUgraphNodeType type, Work work);
CUresult capture_record(Stream& stream, const std::shared_ptr<Event>& event, bool external);
/// True and *result set if the wait belongs to a capture.
bool capture_wait(Stream& stream, const std::shared_ptr<Event>& event, bool external,
                  CUresult& result);
/// CUDA_ERROR_CAPTURED_EVENT if the event was last recorded under capture.
CUresult refuse_captured(Event& event);
void forget_capture(Event& event);

CUresult begin_capture(Stream& stream, CUstreamCaptureMode mode);
CUresult end_capture(Stream& stream, CUgraph& graph);
/// The stream goes away: a capture that began there ends without a graph.
void abandon_capture(Stream& stream);
CUstreamCaptureStatus capture_status(Stream& stream, uint64_t& id, Graph*& graph);
CUstreamCaptureMode exchange_capture_mode(CUstreamCaptureMode mode);

CUresult create_graph(CUgraph& graph);
CUresult destroy_graph(CUgraph graph);
CUresult add_node(CUgraph graph, const CUgraphNode* after, size_t count, CUgraphNodeType type,
                  Work work, const CUDA_MEMCPY3D* params, CUgraphNode& node);
CUresult add_dependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                          size_t count);
std::shared_ptr<Graph> find_graph(CUgraph graph);
std::shared_ptr<Node> find_node(CUgraphNode node);
std::shared_ptr<Node> new_node(Graph& graph, CUgraphNodeType type, Work work,
                               std::vector<Node*> after);
void publish_graph(std::shared_ptr<Graph> graph);

CUresult instantiate(CUgraph graph, CUgraphExec& exec);
CUresult destroy_exec(CUgraphExec exec);
bool known_exec(CUgraphExec exec);
/// Rebinds one node of an executable graph; launches already made keep what they had.
CUresult rebind(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type, Work work);
CUresult launch(CUgraphExec exec, const std::shared_ptr<Stream>& stream);

} // namespace hitproof::sim
