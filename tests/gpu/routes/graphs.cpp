// Graphs: a captured one and one built by hand, launched several times, with nodes that are
// rebound.
#include "tests/gpu/routes/ledger.h"

#include <cuda_runtime_api.h>

namespace hitproof::routes {
namespace {

struct Node {
  const void *dst, *src;
  std::size_t bytes;
  Direction direction;
};

void launch(Ledger& ledger, cudaGraphExec_t exec, cudaStream_t stream,
            const std::vector<Node>& nodes) {
  check(cudaGraphLaunch(exec, stream), "launch");
  for (std::size_t i = 0; i < nodes.size(); ++i)
    ledger.copied({.call = "cudaGraphLaunch",
                   .dst = nodes[i].dst,
                   .src = nodes[i].src,
                   .bytes = nodes[i].bytes,
                   .direction = nodes[i].direction,
                   .stream = stream,
                   .batch_index = static_cast<int>(i),
                   .batch_count = static_cast<int>(nodes.size()),
                   .graph = true});
}

void captured(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  const cudaStream_t stream = make_stream(ledger, "stream1");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  check(cudaMemcpyAsync(b.device, b.pinned, 7000, cudaMemcpyHostToDevice, stream), "H2D");
  check(cudaMemsetAsync(b.other_device, 1, 100, stream), "memset");
  check(cudaMemcpyAsync(b.pinned + 32768, b.device, 7001, cudaMemcpyDeviceToHost, stream), "D2H");
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "end");
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  for (int i = 0; i < 3; ++i)
    launch(ledger, exec, stream,
           {{b.device, b.pinned, 7000, host_to_device},
            {b.pinned + 32768, b.device, 7001, device_to_host}});
  synchronize(ledger, stream);
}

void built(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  const cudaStream_t stream = make_stream(ledger, "stream1");
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
  const Node back{b.pinned + 32768, b.device, 8001, device_to_host};
  launch(ledger, exec, stream, {{b.device, b.pinned, 8000, host_to_device}, back});
  check(cudaGraphExecMemcpyNodeSetParams1D(exec, up, b.device + 512, b.pinned + 1024, 8002,
                                           cudaMemcpyHostToDevice),
        "rebind");
  for (int i = 0; i < 2; ++i)
    launch(ledger, exec, stream, {{b.device + 512, b.pinned + 1024, 8002, host_to_device}, back});
  synchronize(ledger, stream);
}

// An event that a node records: every launch is a record of it, on the launch's stream.
void with_event(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  const cudaStream_t stream = make_stream(ledger, "stream1"),
                     other = make_stream(ledger, "stream2");
  const cudaEvent_t event = make_event(ledger, "event1", cudaEventDisableTiming);
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  check(cudaMemcpyAsync(b.device, b.pinned, 8100, cudaMemcpyHostToDevice, stream), "H2D");
  check(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal), "record");
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "end");
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  for (const cudaStream_t on : {stream, other}) {
    ledger.ordered({.call = "cudaGraphLaunch", .op = event_record, .stream = on, .event = event});
    launch(ledger, exec, on, {{b.device, b.pinned, 8100, host_to_device}});
  }
  check(cudaStreamWaitEvent(nullptr, event), "wait");
  ledger.ordered({.call = "cudaStreamWaitEvent", .op = stream_wait_event, .event = event});
}

const Routes
    added({{"graph_captured", captured}, {"graph_built", built}, {"graph_event", with_event}});

} // namespace
} // namespace hitproof::routes
