// Capture, graphs and executable graphs.
#include "engine/sim/runtime/driver_access.h"
#include "engine/sim/runtime/kind.h"

using namespace hitproof::sim;

namespace {

bool to_driver(const cudaMemcpy3DParms* copy, CUDA_MEMCPY3D& out) {
  if (!copy || copy->srcArray || copy->dstArray || copy->kind > cudaMemcpyDefault) return false;
  out = {};
  out.srcXInBytes = copy->srcPos.x;
  out.srcY = copy->srcPos.y;
  out.srcZ = copy->srcPos.z;
  out.srcMemoryType = side_of(copy->kind, true);
  out.srcHost = copy->srcPtr.ptr;
  out.srcDevice = reinterpret_cast<CUdeviceptr>(copy->srcPtr.ptr);
  out.srcPitch = copy->srcPtr.pitch;
  out.srcHeight = copy->srcPtr.ysize;
  out.dstXInBytes = copy->dstPos.x;
  out.dstY = copy->dstPos.y;
  out.dstZ = copy->dstPos.z;
  out.dstMemoryType = side_of(copy->kind, false);
  out.dstHost = copy->dstPtr.ptr;
  out.dstDevice = reinterpret_cast<CUdeviceptr>(copy->dstPtr.ptr);
  out.dstPitch = copy->dstPtr.pitch;
  out.dstHeight = copy->dstPtr.ysize;
  out.WidthInBytes = copy->extent.width;
  out.Height = copy->extent.height;
  out.Depth = copy->extent.depth;
  return true;
}

cudaMemcpy3DParms flat(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {const_cast<void*>(src), bytes, bytes, 1};
  copy.dstPtr = {dst, bytes, bytes, 1};
  copy.extent = {bytes, 1, 1};
  copy.kind = kind;
  return copy;
}

CUresult current(const DriverCalls& calls, CUcontext& context) {
  return calls.cuCtxGetCurrent(&context);
}

} // namespace

HITPROOF_SIM_CALL(cudaStreamBeginCapture, _ptsz, (cudaStream_t stream, cudaStreamCaptureMode mode),
                  (stream, mode)) {
  return with_context(form, [&](const DriverCalls& calls) {
    return calls.cuStreamBeginCapture_v2(stream, static_cast<CUstreamCaptureMode>(unsigned{mode}));
  });
}

HITPROOF_SIM_CALL(cudaStreamEndCapture, _ptsz, (cudaStream_t stream, cudaGraph_t* graph),
                  (stream, graph)) {
  return with_context(
      form, [&](const DriverCalls& calls) { return calls.cuStreamEndCapture(stream, graph); });
}

HITPROOF_SIM_CALL(cudaStreamIsCapturing, _ptsz,
                  (cudaStream_t stream, cudaStreamCaptureStatus* status), (stream, status)) {
  return with_context(form, [&](const DriverCalls& calls) {
    return calls.cuStreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status));
  });
}

HITPROOF_SIM_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return with_driver([&](const DriverCalls& calls) {
    return calls.cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode));
  });
}

HITPROOF_SIM_API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  return with_context([&](const DriverCalls& calls) { return calls.cuGraphCreate(graph, flags); });
}

HITPROOF_SIM_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return with_context([&](const DriverCalls& calls) { return calls.cuGraphDestroy(graph); });
}

HITPROOF_SIM_API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                    const cudaGraphNode_t* dependencies,
                                                    size_t dependency_count,
                                                    const cudaMemcpy3DParms* copy) {
  return with_context([&](const DriverCalls& calls) {
    CUDA_MEMCPY3D params;
    CUcontext context = nullptr;
    if (!to_driver(copy, params)) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult error = current(calls, context)) return error;
    return calls.cuGraphAddMemcpyNode(node, graph, dependencies, dependency_count, &params,
                                      context);
  });
}

HITPROOF_SIM_API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                                      const cudaGraphNode_t* dependencies,
                                                      size_t dependency_count, void* dst,
                                                      const void* src, size_t bytes,
                                                      cudaMemcpyKind kind) {
  const auto copy = flat(dst, src, bytes, kind);
  return cudaGraphAddMemcpyNode(node, graph, dependencies, dependency_count, &copy);
}

HITPROOF_SIM_API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                    const cudaGraphNode_t* dependencies,
                                                    size_t dependency_count,
                                                    const cudaMemsetParams* params) {
  return with_context([&](const DriverCalls& calls) {
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    CUcontext context = nullptr;
    if (CUresult error = current(calls, context)) return error;
    const CUDA_MEMSET_NODE_PARAMS fill{reinterpret_cast<CUdeviceptr>(params->dst),
                                       params->pitch,
                                       params->value,
                                       params->elementSize,
                                       params->width,
                                       params->height};
    return calls.cuGraphAddMemsetNode(node, graph, dependencies, dependency_count, &fill, context);
  });
}

HITPROOF_SIM_API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                  const cudaGraphNode_t* dependencies,
                                                  size_t dependency_count,
                                                  const cudaHostNodeParams* params) {
  return with_context([&](const DriverCalls& calls) {
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_HOST_NODE_PARAMS host{params->fn, params->userData};
    return calls.cuGraphAddHostNode(node, graph, dependencies, dependency_count, &host);
  });
}

HITPROOF_SIM_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                   const cudaGraphNode_t* dependencies,
                                                   size_t dependency_count) {
  return with_context([&](const DriverCalls& calls) {
    return calls.cuGraphAddEmptyNode(node, graph, dependencies, dependency_count);
  });
}

HITPROOF_SIM_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph,
                                                      const cudaGraphNode_t* from,
                                                      const cudaGraphNode_t* to,
                                                      const cudaGraphEdgeData* edges,
                                                      size_t count) {
  return with_context([&](const DriverCalls& calls) {
    return calls.cuGraphAddDependencies_v2(graph, from, to,
                                           reinterpret_cast<const CUgraphEdgeData*>(edges), count);
  });
}

HITPROOF_SIM_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes,
                                               size_t* count) {
  return with_context(
      [&](const DriverCalls& calls) { return calls.cuGraphGetNodes(graph, nodes, count); });
}

HITPROOF_SIM_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return with_context([&](const DriverCalls& calls) {
    return calls.cuGraphNodeGetType(node, reinterpret_cast<CUgraphNodeType*>(type));
  });
}

HITPROOF_SIM_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                           unsigned long long flags) {
  return with_context([&](const DriverCalls& calls) {
    return calls.cuGraphInstantiateWithFlags(exec, graph, flags);
  });
}

HITPROOF_SIM_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                  unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

HITPROOF_SIM_CALL(cudaGraphInstantiateWithParams, _ptsz,
                  (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams* params),
                  (exec, graph, params)) {
  static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
  return with_context(form, [&](const DriverCalls& calls) {
    return calls.cuGraphInstantiateWithParams(
        exec, graph, reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(params));
  });
}

HITPROOF_SIM_API cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec,
                                                              cudaGraphNode_t node,
                                                              const cudaMemcpy3DParms* copy) {
  return with_context([&](const DriverCalls& calls) {
    CUDA_MEMCPY3D params;
    CUcontext context = nullptr;
    if (!to_driver(copy, params)) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult error = current(calls, context)) return error;
    return calls.cuGraphExecMemcpyNodeSetParams(exec, node, &params, context);
  });
}

HITPROOF_SIM_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec,
                                                                cudaGraphNode_t node, void* dst,
                                                                const void* src, size_t bytes,
                                                                cudaMemcpyKind kind) {
  const auto copy = flat(dst, src, bytes, kind);
  return cudaGraphExecMemcpyNodeSetParams(exec, node, &copy);
}

HITPROOF_SIM_API cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec,
                                                            cudaGraphNode_t node,
                                                            const cudaHostNodeParams* params) {
  return with_context([&](const DriverCalls& calls) {
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_HOST_NODE_PARAMS host{params->fn, params->userData};
    return calls.cuGraphExecHostNodeSetParams(exec, node, &host);
  });
}

HITPROOF_SIM_CALL(cudaGraphUpload, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream),
                  (exec, stream)) {
  return with_context(form,
                      [&](const DriverCalls& calls) { return calls.cuGraphUpload(exec, stream); });
}

HITPROOF_SIM_CALL(cudaGraphLaunch, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream),
                  (exec, stream)) {
  return with_context(form,
                      [&](const DriverCalls& calls) { return calls.cuGraphLaunch(exec, stream); });
}

HITPROOF_SIM_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return with_context([&](const DriverCalls& calls) { return calls.cuGraphExecDestroy(exec); });
}
