// What orders work: stream memory operations, host functions, events of another process.
#include "tests/gpu/routes/ledger.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace hitproof::routes {
namespace {

enum OrderOp {
  host_function = 9,
  write_value = 10,
  wait_value = 11,
  event_export = 12,
  event_open = 13
};

void values(Ledger& ledger, int, char**) {
  using Value = CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  const Buffers b(64 * 1024);
  auto* write = reinterpret_cast<Value*>(driver_symbol("cuStreamWriteValue32_v2"));
  auto* wait = reinterpret_cast<Value*>(driver_symbol("cuStreamWaitValue32_v2"));
  cudaStream_t first = nullptr, second = nullptr;
  check(cudaStreamCreate(&first), "stream");
  check(cudaStreamCreate(&second), "stream");
  const CUdeviceptr flag = reinterpret_cast<CUdeviceptr>(b.other_device);
  check(cudaMemset(b.other_device, 0, 4), "memset");
  check(wait(second, flag, 7, CU_STREAM_WAIT_VALUE_EQ), "wait");
  check(cudaMemcpyAsync(b.pinned, b.device, 9000, cudaMemcpyDeviceToHost, second), "D2H");
  ledger.copied(b.pinned, b.device, 9000, device_to_host);
  check(write(first, flag, 7, 0), "write");
  check(cudaStreamSynchronize(second), "synchronize");
  ledger.ordered(write_value, 1);
  ledger.ordered(wait_value, 1);
}

void function(Ledger& ledger, int, char**) {
  static int seen = 0;
  for (int i = 0; i < 3; ++i)
    check(cudaLaunchHostFunc(
              nullptr, [](void* p) { ++*static_cast<int*>(p); }, &seen),
          "host function");
  check(cudaDeviceSynchronize(), "synchronize");
  check(seen != 3, "host functions that ran");
  ledger.ordered(host_function, 3);
}

void events(Ledger& ledger, int, char**) {
  const Buffers b(64 * 1024);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming), "event");
  cudaIpcEventHandle_t handle;
  check(cudaIpcGetEventHandle(&handle, event), "export");
  check(cudaMemcpyAsync(b.device, b.pinned, 9100, cudaMemcpyHostToDevice), "H2D");
  ledger.copied(b.device, b.pinned, 9100, host_to_device);
  check(cudaEventRecord(event), "record");
  check(run_self({"_event_child", hex(&handle, sizeof handle)}), "the other process");
  ledger.ordered(event_export, 1);
}

void event_child(Ledger& ledger, int argc, char** argv) {
  check(argc != 1, "handle");
  cudaIpcEventHandle_t handle;
  from_hex(argv[0], &handle, sizeof handle);
  cudaEvent_t event = nullptr;
  check(cudaIpcOpenEventHandle(&event, handle), "open");
  check(cudaStreamWaitEvent(nullptr, event), "wait");
  check(cudaEventSynchronize(event), "synchronize");
  ledger.ordered(event_open, 1);
}

} // namespace

const std::vector<Named> order_routes = {{"stream_values", values},
                                         {"host_function", function},
                                         {"ipc_event", events},
                                         {"_event_child", event_child}};

} // namespace hitproof::routes
