// Graphs: a captured one and one built by hand, launched several times, with nodes that are
// rebound.
#include "tests/gpu/routes/ledger.h"

#include <cuda_runtime_api.h>

namespace hitproof::routes {
namespace {

void captured(Ledger& ledger, int, char**) {
  const Buffers b(64 * 1024);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  check(cudaMemcpyAsync(b.device, b.pinned, 7000, cudaMemcpyHostToDevice, stream), "H2D");
  check(cudaMemsetAsync(b.other_device, 1, 100, stream), "memset");
  check(cudaMemcpyAsync(b.pinned + 32768, b.device, 7001, cudaMemcpyDeviceToHost, stream), "D2H");
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "end");
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  for (int i = 0; i < 3; ++i) {
    check(cudaGraphLaunch(exec, stream), "launch");
    ledger.copied(b.device, b.pinned, 7000, host_to_device);
    ledger.copied(b.pinned + 32768, b.device, 7001, device_to_host);
  }
  check(cudaStreamSynchronize(stream), "synchronize");
}

void built(Ledger& ledger, int, char**) {
  const Buffers b(64 * 1024);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "stream");
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "graph");
  cudaGraphNode_t up = nullptr, down = nullptr;
  check(cudaGraphAddMemcpyNode1D(&up, graph, nullptr, 0, b.device, b.pinned, 8000,
                                 cudaMemcpyHostToDevice),
        "node");
  check(cudaGraphAddMemcpyNode1D(&down, graph, &up, 1, b.pinned + 32768, b.device, 8001,
                                 cudaMemcpyDeviceToHost),
        "node");
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  check(cudaGraphLaunch(exec, stream), "launch");
  ledger.copied(b.device, b.pinned, 8000, host_to_device);
  ledger.copied(b.pinned + 32768, b.device, 8001, device_to_host);
  check(cudaGraphExecMemcpyNodeSetParams1D(exec, up, b.device + 512, b.pinned + 1024, 8002,
                                           cudaMemcpyHostToDevice),
        "rebind");
  for (int i = 0; i < 2; ++i) {
    check(cudaGraphLaunch(exec, stream), "launch");
    ledger.copied(b.device + 512, b.pinned + 1024, 8002, host_to_device);
    ledger.copied(b.pinned + 32768, b.device, 8001, device_to_host);
  }
  check(cudaStreamSynchronize(stream), "synchronize");
}

} // namespace

const std::vector<Named> graph_routes = {{"graph_captured", captured}, {"graph_built", built}};

} // namespace hitproof::routes
