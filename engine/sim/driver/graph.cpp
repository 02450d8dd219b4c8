#include "engine/sim/driver/graph.h"

#include "engine/sim/driver/handle_table.h"

#include <algorithm>
#include <utility>

namespace hitproof::sim {
namespace {

// Leaked on purpose: host functions may reach them while the process exits.
HandleTable<Graph>& graphs() {
  static auto& instance = *new HandleTable<Graph>;
  return instance;
}
HandleTable<Node>& nodes() {
  static auto& instance = *new HandleTable<Node>;
  return instance;
}

} // namespace

std::shared_ptr<Graph> find_graph(CUgraph graph) { return graphs().find(graph); }
std::shared_ptr<Node> find_node(CUgraphNode node) { return nodes().find(node); }
void publish_graph(std::shared_ptr<Graph> graph) { graphs().add(std::move(graph)); }

CUDA_MEMCPY3D params_of(const CopyOp& op) {
  CUDA_MEMCPY3D params{};
  params.dstMemoryType = params.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  params.dstDevice = reinterpret_cast<CUdeviceptr>(op.dst);
  params.srcDevice = reinterpret_cast<CUdeviceptr>(op.src);
  params.dstPitch = op.dst_pitch ? op.dst_pitch : op.width;
  params.srcPitch = op.src_pitch ? op.src_pitch : op.width;
  params.dstHeight = params.dstPitch && op.dst_slice ? op.dst_slice / params.dstPitch : op.height;
  params.srcHeight = params.srcPitch && op.src_slice ? op.src_slice / params.srcPitch : op.height;
  params.WidthInBytes = op.width;
  params.Height = op.height;
  params.Depth = op.depth;
  return params;
}

std::shared_ptr<Node> new_node(Graph& graph, CUgraphNodeType type, Work work,
                               std::vector<Node*> after) {
  auto node = std::make_shared<Node>();
  node->type = type;
  if (const auto* copy = std::get_if<CopyOp>(&work)) node->copy_params = params_of(*copy);
  node->work = std::move(work);
  node->after = std::move(after);
  node->graph = &graph;
  graph.nodes.push_back(node);
  nodes().add(node);
  return node;
}

CUresult create_graph(CUgraph& handle) {
  auto graph = std::make_shared<Graph>();
  handle = graph->handle();
  graphs().add(std::move(graph));
  return CUDA_SUCCESS;
}

CUresult destroy_graph(CUgraph handle) {
  std::lock_guard lock(graph_mutex());
  auto graph = graphs().take(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& node : graph->nodes)
    nodes().take(node.get());
  return CUDA_SUCCESS;
}

CUresult add_node(CUgraph handle, const CUgraphNode* after, size_t count, CUgraphNodeType type,
                  Work work, const CUDA_MEMCPY3D* params, CUgraphNode& out) {
  std::lock_guard lock(graph_mutex());
  auto graph = graphs().find(handle);
  if (!graph || (count && !after)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Node*> before;
  for (size_t i = 0; i < count; ++i) {
    auto node = nodes().find(after[i]);
    if (!node || node->graph != graph.get()) return CUDA_ERROR_INVALID_VALUE;
    before.push_back(node.get());
  }
  auto node = new_node(*graph, type, std::move(work), std::move(before));
  if (params) node->copy_params = *params;
  out = node->handle();
  return CUDA_SUCCESS;
}

CUresult add_dependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                          size_t count) {
  std::lock_guard lock(graph_mutex());
  auto graph = graphs().find(handle);
  if (!graph || (count && (!from || !to))) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    auto before = nodes().find(from[i]);
    auto after = nodes().find(to[i]);
    if (!before || !after || before->graph != graph.get() || after->graph != graph.get() ||
        before == after)
      return CUDA_ERROR_INVALID_VALUE;
    after->after.push_back(before.get());
  }
  return CUDA_SUCCESS;
}

} // namespace hitproof::sim
