// Capture, graphs, rebinding.
#include "tests/sim/sim_test.h"

#include <algorithm>
#include <set>

namespace hitproof::sim::tests {
namespace {

class GraphTest : public SimTest {
 protected:
  static CUDA_MEMCPY3D copy(CUdeviceptr dst, const void* src, size_t bytes) {
    CUDA_MEMCPY3D params{};
    params.srcMemoryType = CU_MEMORYTYPE_HOST;
    params.srcHost = src;
    params.srcPitch = bytes;
    params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.dstDevice = dst;
    params.dstPitch = bytes;
    params.WidthInBytes = bytes;
    params.Height = params.Depth = 1;
    return params;
  }
};

TEST_F(GraphTest, ACapturedCopyMovesNothingUntilLaunched) {
  OwnStream stream;
  Device device(64);
  Pinned in(64, 5);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CU_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CU_OK(cuMemcpyHtoDAsync(device.at(), in.at(), 64, stream));
  CU_OK(cuMemsetD8Async(device.at(32), 6, 32, stream));
  CUstreamCaptureStatus status;
  CU_OK(cuStreamIsCapturing(stream, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CU_OK(cuStreamEndCapture(stream, &graph));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(device.read()[0], 0);
  size_t count = 0;
  CU_OK(cuGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 2u);
  CU_OK(cuGraphInstantiate(&exec, graph, 0));
  for (int value = 10; value < 13; ++value) {
    std::memset(in.at(), value, 64);
    CU_OK(cuGraphLaunch(exec, stream));
    CU_OK(cuStreamSynchronize(stream));
    EXPECT_EQ(device.read()[0], value);
    EXPECT_EQ(device.read()[63], 6);
  }
  CU_OK(cuGraphExecDestroy(exec));
  CU_OK(cuGraphDestroy(graph));
  EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, RebindingChangesLaterLaunchesOnly) {
  OwnStream stream;
  Device device(128);
  Pinned first(64, 1), second(64, 2);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CU_OK(cuGraphCreate(&graph, 0));
  auto params = copy(device.at(), first.at(), 64);
  CU_OK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &params, context_));
  CU_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  hitproof_sim_latch_hold(stream);
  CU_OK(cuGraphLaunch(exec, stream));
  auto other = copy(device.at(64), second.at(), 64);
  CU_OK(cuGraphExecMemcpyNodeSetParams(exec, node, &other, context_));
  CU_OK(cuGraphLaunch(exec, stream));
  hitproof_sim_latch_release(stream);
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(device.read()[0], 1);
  EXPECT_EQ(device.read()[64], 2);
  CUDA_MEMCPY3D read_back{};
  CU_OK(cuGraphMemcpyNodeGetParams(node, &read_back)); // the graph itself is as it was
  EXPECT_EQ(read_back.srcHost, first.at());
  other = copy(device.at(100), second.at(), 64); // beyond the allocation
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(exec, node, &other, context_), CUDA_ERROR_INVALID_VALUE);
  CU_OK(cuGraphExecDestroy(exec));
  CU_OK(cuGraphDestroy(graph));
}

TEST_F(GraphTest, EveryInstantiateVersion) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode node = nullptr;
  CU_OK(cuGraphCreate(&graph, 0));
  CU_OK(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  char log[16];
  CU_OK(cuGraphInstantiate_v2(&exec, graph, &node, log, sizeof log));
  CU_OK(cuGraphExecDestroy(exec));
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  CU_OK(cuGraphInstantiateWithParams(&exec, graph, &params));
  EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
  CU_OK(cuGraphExecDestroy(exec));
  CU_OK(cuGraphDestroy(graph));
  EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, DependenciesHoldUnderEverySeed) {
  OwnStream stream;
  std::vector<int> order;
  struct Item {
    std::vector<int>* order;
    int number;
  };
  Item items[] = {{&order, 0}, {&order, 1}, {&order, 2}, {&order, 3}};
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode nodes[4];
  CU_OK(cuGraphCreate(&graph, 0));
  for (int i = 0; i < 4; ++i) {
    CUDA_HOST_NODE_PARAMS params{[](void* at) {
                                   auto* item = static_cast<Item*>(at);
                                   item->order->push_back(item->number);
                                 },
                                 &items[i]};
    CU_OK(cuGraphAddHostNode(&nodes[i], graph, nullptr, 0, &params));
  }
  // 3 before 0: against the order of their making.
  CU_OK(cuGraphAddDependencies(graph, &nodes[3], &nodes[0], nullptr, 1));
  CU_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    hitproof_sim_set_seed(seed);
    order.clear();
    CU_OK(cuGraphLaunch(exec, stream));
    CU_OK(cuStreamSynchronize(stream));
    ASSERT_EQ(order.size(), 4u);
    EXPECT_LT(std::find(order.begin(), order.end(), 3), std::find(order.begin(), order.end(), 0));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 2u);
  CU_OK(cuGraphExecDestroy(exec));
  CU_OK(cuGraphDestroy(graph));
}

TEST_F(GraphTest, CaptureSpreadsOverEventsAndMustComeBack) {
  OwnStream origin, branch;
  OwnEvent fork, join;
  Device device(64);
  CUgraph graph = nullptr;
  CU_OK(cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU_OK(cuEventRecord(fork, origin));
  CU_OK(cuStreamWaitEvent(branch, fork, 0));
  CU_OK(cuMemsetD8Async(device.at(), 3, 64, branch));
  EXPECT_EQ(cuStreamEndCapture(origin, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

  CU_OK(cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU_OK(cuEventRecord(fork, origin));
  CU_OK(cuStreamWaitEvent(branch, fork, 0));
  CU_OK(cuMemsetD8Async(device.at(), 3, 64, branch));
  CU_OK(cuEventRecord(join, branch));
  CU_OK(cuStreamWaitEvent(origin, join, 0));
  CU_OK(cuStreamEndCapture(origin, &graph));
  CUgraphExec exec = nullptr;
  CU_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CU_OK(cuGraphLaunch(exec, origin));
  CU_OK(cuStreamSynchronize(origin));
  EXPECT_EQ(device.read()[0], 3);
  CU_OK(cuGraphExecDestroy(exec));
  CU_OK(cuGraphDestroy(graph));
}

TEST_F(GraphTest, AnExternalRecordIsANode) {
  OwnStream stream;
  OwnEvent event;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CU_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CU_OK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
  CU_OK(cuStreamEndCapture(stream, &graph));
  size_t count = 1;
  CUgraphNode node = nullptr;
  CU_OK(cuGraphGetNodes(graph, &node, &count));
  CUgraphNodeType type;
  CU_OK(cuGraphNodeGetType(node, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  CU_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  hitproof_sim_latch_hold(stream);
  CU_OK(cuGraphLaunch(exec, stream));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  hitproof_sim_latch_release(stream);
  CU_OK(cuEventSynchronize(event));
  CU_OK(cuGraphExecDestroy(exec));
  CU_OK(cuGraphDestroy(graph));
}

TEST_F(GraphTest, ADestroyedStreamTakesItsCaptureAlong) {
  CUstream stream = nullptr;
  Device device(64), other(64);
  CU_OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  CU_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU_OK(cuMemsetD8Async(device.at(), 1, 64, stream));
  CU_OK(cuStreamDestroy(stream));
  CU_OK(cuMemcpyDtoD(other.at(), device.at(), 64)); // nothing is captured any more
}

TEST_F(GraphTest, WhatACaptureDoesNotAllowEndsIt) {
  OwnStream stream(CU_STREAM_DEFAULT);
  OwnEvent event;
  Device device(64), other(64);
  CUgraph graph = nullptr;
  CU_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuMemsetD8Async(device.at(), 1, 64, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);

  CU_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuMemcpyDtoD(other.at(), device.at(), 64), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

  CU_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CU_OK(cuEventRecord(event, stream));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CU_OK(cuEventQuery(event));
  EXPECT_EQ(cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
}

} // namespace
} // namespace hitproof::sim::tests
