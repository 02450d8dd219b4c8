#include "tests/probes/subject.h"

namespace subject {
namespace {

void launch_says(const char* hook, Memory& m, std::initializer_list<CopyRow> nodes) {
  unsigned i = 0;
  for (CopyRow row : nodes) {
    row.hook = hook;
    row.stream = m.stream;
    row.index = i++;
    row.count = static_cast<unsigned>(nodes.size());
    says(row);
  }
}

int captured(int, char**) {
  Memory m;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  SUBJECT_OK(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeGlobal));
  // Recipes: no rows.
  SUBJECT_OK(cudaMemcpyAsync(m.device, m.pinned, 100, cudaMemcpyHostToDevice, m.stream));
  SUBJECT_OK(cudaMemcpyAsync(m.device2, m.device, 200, cudaMemcpyDeviceToDevice, m.stream));
  SUBJECT_OK(cudaStreamEndCapture(m.stream, &graph));
  SUBJECT_OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int launch = 0; launch < 3; ++launch) {
    SUBJECT_OK(cudaGraphLaunch(exec, m.stream));
    launch_says("cudaGraphLaunch", m,
                {{"", 0, h2d, 100, m.pinned, m.device}, {"", 0, d2d, 200, m.device, m.device2}});
  }
  // An ordinary copy is one again.
  SUBJECT_OK(cudaMemcpyAsync(m.device, m.pinned, 9, cudaMemcpyHostToDevice, m.stream));
  says({"cudaMemcpyAsync", 0, h2d, 9, m.pinned, m.device, m.stream});
  SUBJECT_OK(cudaStreamSynchronize(m.stream));
  SUBJECT_OK(cudaGraphExecDestroy(exec));
  SUBJECT_OK(cudaGraphDestroy(graph));
  return 0;
}

// Another stream joins the capture through an event; a third one, outside, really copies.
int joined(int, char**) {
  Memory m;
  cudaStream_t side = nullptr, outside = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  cudaGraph_t graph = nullptr;
  SUBJECT_OK(cudaStreamCreate(&side));
  SUBJECT_OK(cudaStreamCreate(&outside));
  SUBJECT_OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  SUBJECT_OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  SUBJECT_OK(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeRelaxed));
  SUBJECT_OK(cudaEventRecord(fork, m.stream));
  SUBJECT_OK(cudaStreamWaitEvent(side, fork, 0));
  SUBJECT_OK(cudaMemcpyAsync(m.device, m.pinned, 64, cudaMemcpyHostToDevice, side));
  SUBJECT_OK(cudaMemcpyAsync(m.device2, m.pinned, 65, cudaMemcpyHostToDevice, outside));
  says({"cudaMemcpyAsync", 0, h2d, 65, m.pinned, m.device2, outside});
  SUBJECT_OK(cudaEventRecord(join, side));
  SUBJECT_OK(cudaStreamWaitEvent(m.stream, join, 0));
  SUBJECT_OK(cudaStreamEndCapture(m.stream, &graph));
  SUBJECT_OK(cudaStreamSynchronize(outside));
  SUBJECT_OK(cudaGraphDestroy(graph));
  return 0;
}

CUDA_MEMCPY3D linear(CUdeviceptr dst, const void* src, std::size_t bytes) {
  CUDA_MEMCPY3D p{};
  p.srcMemoryType = CU_MEMORYTYPE_HOST;
  p.srcHost = src;
  p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  p.dstDevice = dst;
  p.WidthInBytes = bytes;
  p.Height = p.Depth = 1;
  return p;
}

int built(int, char**) {
  Memory m;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CUcontext context = nullptr;
  SUBJECT_OK(cuCtxGetCurrent(&context));
  SUBJECT_OK(cuGraphCreate(&graph, 0));
  const CUDA_MEMCPY3D first = linear(dev(m.device), m.pinned, 300);
  SUBJECT_OK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &first, context));
  SUBJECT_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  const CUstream s = reinterpret_cast<CUstream>(m.stream);
  SUBJECT_OK(cuGraphLaunch(exec, s));
  launch_says("cuGraphLaunch", m, {{"", 0, h2d, 300, m.pinned, m.device}});
  // Rebound: the next launch moves other bytes.
  const CUDA_MEMCPY3D second = linear(dev(m.device2 + 16), m.pinned + 32, 301);
  SUBJECT_OK(cuGraphExecMemcpyNodeSetParams(exec, node, &second, context));
  for (int launch = 0; launch < 2; ++launch) {
    SUBJECT_OK(cuGraphLaunch(exec, s));
    launch_says("cuGraphLaunch", m, {{"", 0, h2d, 301, m.pinned + 32, m.device2 + 16}});
  }
  // A change of the graph itself shows in the next instantiation.
  const CUDA_MEMCPY3D third = linear(dev(m.device2), m.pinned, 302);
  SUBJECT_OK(cuGraphMemcpyNodeSetParams(node, &third));
  CUgraphExec again = nullptr;
  SUBJECT_OK(cuGraphInstantiateWithFlags(&again, graph, 0));
  SUBJECT_OK(cuGraphLaunch(again, s));
  launch_says("cuGraphLaunch", m, {{"", 0, h2d, 302, m.pinned, m.device2}});
  SUBJECT_OK(cudaStreamSynchronize(m.stream));
  SUBJECT_OK(cuGraphExecDestroy(exec));
  SUBJECT_OK(cuGraphExecDestroy(again));
  SUBJECT_OK(cuGraphDestroy(graph));
  return 0;
}

int runtime_built(int, char**) {
  Memory m;
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t exec = nullptr;
  SUBJECT_OK(cudaGraphCreate(&graph, 0));
  SUBJECT_OK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, m.device, m.pinned, 400,
                                      cudaMemcpyHostToDevice));
  SUBJECT_OK(cudaGraphInstantiate(&exec, graph, 0));
  SUBJECT_OK(cudaGraphLaunch(exec, m.stream));
  launch_says("cudaGraphLaunch", m, {{"", 0, h2d, 400, m.pinned, m.device}});
  SUBJECT_OK(cudaGraphExecMemcpyNodeSetParams1D(exec, node, m.device2, m.pinned + 8, 401,
                                                cudaMemcpyHostToDevice));
  SUBJECT_OK(cudaGraphLaunch(exec, m.stream));
  launch_says("cudaGraphLaunch", m, {{"", 0, h2d, 401, m.pinned + 8, m.device2}});
  SUBJECT_OK(cudaStreamSynchronize(m.stream));
  SUBJECT_OK(cudaGraphExecDestroy(exec));
  SUBJECT_OK(cudaGraphDestroy(graph));
  return 0;
}

// A capture on the thread's own default stream, which these calls name by the null handle.
int captured_per_thread(int, char**) {
  Memory m;
  cudaGraph_t graph = nullptr;
  SUBJECT_OK(cudaStreamBeginCapture_ptsz(nullptr, cudaStreamCaptureModeRelaxed));
  SUBJECT_OK(cudaMemcpyAsync_ptsz(m.device, m.pinned, 70, cudaMemcpyHostToDevice, nullptr));
  SUBJECT_OK(cudaMemcpyAsync(m.device2, m.pinned, 71, cudaMemcpyHostToDevice, m.stream));
  says({"cudaMemcpyAsync", 0, h2d, 71, m.pinned, m.device2, m.stream});
  SUBJECT_OK(cudaStreamEndCapture_ptsz(nullptr, &graph));
  SUBJECT_OK(cudaGraphDestroy(graph));
  return 0;
}

// Events that a graph records and waits for at every launch; those of the capture itself are edges.
int graph_events(int, char**) {
  enum { create = 0, destroy = 1, record = 2, wait_event = 5, stream_sync = 6, stream_create = 14 };
  auto* const m = new Memory; // to the end of the process
  says_order("cudaStreamCreate", stream_create, m->stream, nullptr);
  cudaStream_t side = nullptr;
  cudaEvent_t recorded = nullptr, waited = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  SUBJECT_OK(cudaStreamCreate(&side));
  says_order("cudaStreamCreate", stream_create, side, nullptr);
  for (cudaEvent_t* e : {&recorded, &waited}) {
    SUBJECT_OK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    says_order("cudaEventCreateWithFlags", create, nullptr, *e);
  }
  SUBJECT_OK(cudaEventRecord(waited, m->stream));
  says_order("cudaEventRecord", record, m->stream, waited);
  SUBJECT_OK(cudaStreamBeginCapture(side, cudaStreamCaptureModeRelaxed));
  SUBJECT_OK(cudaStreamWaitEvent(side, waited, cudaEventWaitExternal));
  SUBJECT_OK(cudaMemcpyAsync(m->device, m->pinned, 100, cudaMemcpyHostToDevice, side));
  SUBJECT_OK(cudaEventRecordWithFlags(recorded, side, cudaEventRecordExternal));
  SUBJECT_OK(cudaStreamEndCapture(side, &graph));
  SUBJECT_OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int launch = 0; launch < 2; ++launch) {
    SUBJECT_OK(cudaGraphLaunch(exec, m->stream));
    says_order("cudaGraphLaunch", record, m->stream, recorded);
    says_order("cudaGraphLaunch", wait_event, m->stream, waited);
  }
  // Events of the executable graph are changed for each other.
  CUgraphNode nodes[3] = {};
  std::size_t count = 3;
  SUBJECT_OK(cuGraphGetNodes(reinterpret_cast<CUgraph>(graph), nodes, &count));
  const auto changed = reinterpret_cast<CUgraphExec>(exec);
  for (CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    SUBJECT_OK(cuGraphNodeGetType(node, &type));
    if (type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
      SUBJECT_OK(
          cuGraphExecEventRecordNodeSetEvent(changed, node, reinterpret_cast<CUevent>(waited)));
    if (type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
      SUBJECT_OK(
          cuGraphExecEventWaitNodeSetEvent(changed, node, reinterpret_cast<CUevent>(recorded)));
  }
  SUBJECT_OK(cudaGraphLaunch(exec, m->stream));
  says_order("cudaGraphLaunch", record, m->stream, waited);
  says_order("cudaGraphLaunch", wait_event, m->stream, recorded);
  SUBJECT_OK(cudaStreamSynchronize(m->stream));
  says_order("cudaStreamSynchronize", stream_sync, m->stream, nullptr);
  SUBJECT_OK(cudaGraphExecDestroy(exec));
  SUBJECT_OK(cudaGraphDestroy(graph));
  for (cudaEvent_t e : {recorded, waited}) {
    SUBJECT_OK(cudaEventDestroy(e));
    says_order("cudaEventDestroy", destroy, nullptr, e);
  }
  return 0;
}

} // namespace

const Scenario graph_scenarios[] = {{"captured", captured},
                                    {"captured_per_thread", captured_per_thread},
                                    {"graph_events", graph_events},
                                    {"joined", joined},
                                    {"built", built},
                                    {"runtime_built", runtime_built},
                                    {nullptr, nullptr}};

} // namespace subject
