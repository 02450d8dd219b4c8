// Capture, graphs and executable graphs.
#include "engine/sim/driver/api.h"
#include "engine/sim/driver/graph.h"

#include <algorithm>
#include <utility>

using namespace hitproof::sim;

namespace {

CUresult copy_of(const CUDA_MEMCPY3D* params, CopyOp& op) {
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  Side dst, src;
  if (CUresult error = box_of(*params, op, dst, src)) return error;
  return check(op, dst, src).result;
}

CUresult fill_of(const CUDA_MEMSET_NODE_PARAMS* params, FillOp& op) {
  if (!params || (params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4))
    return CUDA_ERROR_INVALID_VALUE;
  op = {reinterpret_cast<char*>(params->dst),
        params->value,
        params->elementSize,
        params->pitch,
        params->width,
        params->height};
  return check(op);
}

template <class Op> CUresult event_of(CUgraphNode node, CUevent* event) {
  return work_call([&] {
    std::lock_guard lock(graph_mutex());
    auto known = find_node(node);
    const Op* op = known ? std::get_if<Op>(&known->work) : nullptr;
    if (!op || !event) return CUDA_ERROR_INVALID_VALUE;
    *event = op->event->handle();
    return CUDA_SUCCESS;
  });
}

template <class Op>
CUresult with_event(CUgraphExec exec, CUgraphNode node, CUevent event, CUgraphNodeType type) {
  return work_call([&] {
    auto known = find_event(event);
    return known ? rebind(exec, node, type, Op{std::move(known)}) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult instantiated(CUgraphExec* exec, CUgraph graph) {
  return work_call([&] { return exec ? instantiate(graph, *exec) : CUDA_ERROR_INVALID_VALUE; });
}

} // namespace

HITPROOF_SIM_CALL(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode),
                  (stream, mode)) {
  return work_call([&] {
    auto on = find_stream(stream, form);
    return on ? begin_capture(*on, mode) : CUDA_ERROR_INVALID_HANDLE;
  });
}

HITPROOF_SIM_CALL(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph* graph), (stream, graph)) {
  return work_call([&] {
    auto on = find_stream(stream, form);
    if (!on) return CUDA_ERROR_INVALID_HANDLE;
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    *graph = nullptr;
    return end_capture(*on, *graph);
  });
}

HITPROOF_SIM_CALL(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus* status),
                  (stream, status)) {
  return work_call([&] {
    auto on = find_stream(stream, form);
    if (!on) return CUDA_ERROR_INVALID_HANDLE;
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    uint64_t id = 0;
    Graph* graph = nullptr;
    *status = capture_status(*on, id, graph);
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_CALL(cuStreamGetCaptureInfo_v3, _ptsz,
                  (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                   const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                   size_t* dependency_count),
                  (stream, status, id, graph, dependencies, edges, dependency_count)) {
  return work_call([&] {
    auto on = find_stream(stream, form);
    if (!on) return CUDA_ERROR_INVALID_HANDLE;
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    uint64_t number = 0;
    Graph* target = nullptr;
    *status = capture_status(*on, number, target);
    if (id) *id = number;
    if (graph) *graph = target ? target->handle() : nullptr;
    if (dependencies) *dependencies = nullptr;
    if (edges) *edges = nullptr;
    if (dependency_count) *dependency_count = 0;
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  *mode = exchange_capture_mode(*mode);
  return CUDA_SUCCESS;
}

HITPROOF_SIM_API CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
  return work_call(
      [&] { return graph && flags == 0 ? create_graph(*graph) : CUDA_ERROR_INVALID_VALUE; });
}

HITPROOF_SIM_API CUresult cuGraphDestroy(CUgraph graph) {
  return work_call([&] { return destroy_graph(graph); });
}

HITPROOF_SIM_API CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph,
                                               const CUgraphNode* dependencies,
                                               size_t dependency_count, const CUDA_MEMCPY3D* copy,
                                               CUcontext context) {
  return work_call([&] {
    CopyOp op;
    if (CUresult error = copy_of(copy, op)) return error;
    if (!node) return CUDA_ERROR_INVALID_VALUE;
    return add_node(graph, dependencies, dependency_count, CU_GRAPH_NODE_TYPE_MEMCPY, op, copy,
                    *node);
  });
}

HITPROOF_SIM_API CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph,
                                               const CUgraphNode* dependencies,
                                               size_t dependency_count,
                                               const CUDA_MEMSET_NODE_PARAMS* params,
                                               CUcontext context) {
  return work_call([&] {
    FillOp op;
    if (CUresult error = fill_of(params, op)) return error;
    if (!node) return CUDA_ERROR_INVALID_VALUE;
    return add_node(graph, dependencies, dependency_count, CU_GRAPH_NODE_TYPE_MEMSET, op, nullptr,
                    *node);
  });
}

HITPROOF_SIM_API CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph,
                                             const CUgraphNode* dependencies,
                                             size_t dependency_count,
                                             const CUDA_HOST_NODE_PARAMS* params) {
  return work_call([&] {
    if (!node || !params || !params->fn) return CUDA_ERROR_INVALID_VALUE;
    return add_node(graph, dependencies, dependency_count, CU_GRAPH_NODE_TYPE_HOST,
                    HostOp{params->fn, params->userData}, nullptr, *node);
  });
}

HITPROOF_SIM_API CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph,
                                              const CUgraphNode* dependencies,
                                              size_t dependency_count) {
  return work_call([&] {
    if (!node) return CUDA_ERROR_INVALID_VALUE;
    return add_node(graph, dependencies, dependency_count, CU_GRAPH_NODE_TYPE_EMPTY,
                    std::monostate{}, nullptr, *node);
  });
}

HITPROOF_SIM_API CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                                    const CUgraphNode* to,
                                                    const CUgraphEdgeData* edges, size_t count) {
  return work_call([&] { return add_dependencies(graph, from, to, count); });
}

HITPROOF_SIM_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return work_call([&] {
    std::lock_guard lock(graph_mutex());
    auto known = find_graph(graph);
    if (!known || !count) return CUDA_ERROR_INVALID_VALUE;
    const size_t all = known->nodes.size();
    if (nodes) {
      for (size_t i = 0; i < *count; ++i)
        nodes[i] = i < all ? known->nodes[i]->handle() : nullptr;
      *count = std::min(*count, all);
    } else {
      *count = all;
    }
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return work_call([&] {
    auto known = find_node(node);
    if (!known || !type) return CUDA_ERROR_INVALID_VALUE;
    *type = known->type;
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* copy) {
  return work_call([&] {
    std::lock_guard lock(graph_mutex());
    auto known = find_node(node);
    if (!known || !copy || known->type != CU_GRAPH_NODE_TYPE_MEMCPY)
      return CUDA_ERROR_INVALID_VALUE;
    *copy = known->copy_params;
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return event_of<RecordOp>(node, event);
}

HITPROOF_SIM_API CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return event_of<WaitOp>(node, event);
}

HITPROOF_SIM_API CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* copy) {
  return work_call([&] {
    CopyOp op;
    if (CUresult error = copy_of(copy, op)) return error;
    std::lock_guard lock(graph_mutex());
    auto known = find_node(node);
    if (!known || known->type != CU_GRAPH_NODE_TYPE_MEMCPY) return CUDA_ERROR_INVALID_VALUE;
    known->work = op;
    known->copy_params = *copy;
    return CUDA_SUCCESS;
  });
}

HITPROOF_SIM_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                      unsigned long long flags) {
  return instantiated(exec, graph);
}

HITPROOF_SIM_API CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph,
                                                CUgraphNode* error_node, char* log,
                                                size_t log_bytes) {
  if (error_node) *error_node = nullptr;
  if (log && log_bytes) log[0] = 0;
  return instantiated(exec, graph);
}

HITPROOF_SIM_CALL(cuGraphInstantiateWithParams, _ptsz,
                  (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params),
                  (exec, graph, params)) {
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = instantiated(exec, graph);
  params->hErrNode_out = nullptr;
  params->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

HITPROOF_SIM_API CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                         const CUDA_MEMCPY3D* copy,
                                                         CUcontext context) {
  return work_call([&] {
    CopyOp op;
    if (CUresult error = copy_of(copy, op)) return error;
    return rebind(exec, node, CU_GRAPH_NODE_TYPE_MEMCPY, op);
  });
}

HITPROOF_SIM_API CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                         const CUDA_MEMSET_NODE_PARAMS* params,
                                                         CUcontext context) {
  return work_call([&] {
    FillOp op;
    if (CUresult error = fill_of(params, op)) return error;
    return rebind(exec, node, CU_GRAPH_NODE_TYPE_MEMSET, op);
  });
}

HITPROOF_SIM_API CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                       const CUDA_HOST_NODE_PARAMS* params) {
  return work_call([&] {
    if (!params || !params->fn) return CUDA_ERROR_INVALID_VALUE;
    return rebind(exec, node, CU_GRAPH_NODE_TYPE_HOST, HostOp{params->fn, params->userData});
  });
}

HITPROOF_SIM_API CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                             CUevent event) {
  return with_event<RecordOp>(exec, node, event, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
}

HITPROOF_SIM_API CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                           CUevent event) {
  return with_event<WaitOp>(exec, node, event, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
}

HITPROOF_SIM_CALL(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream stream), (exec, stream)) {
  return work_call([&] {
    auto on = find_stream(stream, form);
    if (!on) return CUDA_ERROR_INVALID_HANDLE;
    return known_exec(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

HITPROOF_SIM_CALL(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream), (exec, stream)) {
  return work_call([&] {
    auto on = find_stream(stream, form);
    return on ? launch(exec, on) : CUDA_ERROR_INVALID_HANDLE;
  });
}

HITPROOF_SIM_API CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return work_call([&] { return destroy_exec(exec); });
}
