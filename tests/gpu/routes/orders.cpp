// What orders work: stream memory operations, host functions, events of another process.
#include "tests/gpu/routes/ledger.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace hitproof::routes {
namespace {

void values(Ledger& ledger, int, char**) {
  using Value = CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  const Buffers b(ledger, 64 * 1024);
  auto* write = reinterpret_cast<Value*>(driver_symbol("cuStreamWriteValue32_v2"));
  auto* wait = reinterpret_cast<Value*>(driver_symbol("cuStreamWaitValue32_v2"));
  const cudaStream_t first = make_stream(ledger, "stream1"),
                     second = make_stream(ledger, "stream2");
  const CUdeviceptr flag = reinterpret_cast<CUdeviceptr>(b.other_device);
  check(wait(second, flag, 7, CU_STREAM_WAIT_VALUE_EQ), "wait");
  ledger.ordered({.call = "cuStreamWaitValue32_v2",
                  .op = wait_value,
                  .stream = second,
                  .event = b.other_device,
                  .value = 7});
  copy_async(ledger, b.pinned, b.device, 9000, device_to_host, second);
  check(write(first, flag, 7, 0), "write");
  ledger.ordered({.call = "cuStreamWriteValue32_v2",
                  .op = write_value,
                  .stream = first,
                  .event = b.other_device,
                  .value = 7});
  synchronize(ledger, second);
}

void count_one(void* p) { ++*static_cast<int*>(p); }

void function(Ledger& ledger, int, char**) {
  static int seen = 0;
  const auto* address = reinterpret_cast<const void*>(&count_one);
  ledger.name("function", address);
  const cudaStream_t own = make_stream(ledger, "stream1");
  for (const cudaStream_t stream : {static_cast<cudaStream_t>(nullptr), own, own}) {
    check(cudaLaunchHostFunc(stream, count_one, &seen), "host function");
    ledger.ordered(
        {.call = "cudaLaunchHostFunc", .op = host_function, .stream = stream, .function = address});
  }
  synchronize(ledger, nullptr);
  synchronize(ledger, own);
  check(seen != 3, "host functions that ran");
}

void events(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  const cudaStream_t stream = make_stream(ledger, "stream1");
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming), "event");
  ledger.name("event1", event);
  ledger.ordered({.call = "cudaEventCreateWithFlags", .op = event_create, .event = event});
  cudaIpcEventHandle_t handle;
  check(cudaIpcGetEventHandle(&handle, event), "export");
  ledger.name_handle("handle1", &handle, sizeof handle);
  ledger.ordered(
      {.call = "cudaIpcGetEventHandle", .op = event_export, .event = event, .handle = "handle1"});
  copy_async(ledger, b.device, b.pinned, 9100, host_to_device, stream);
  check(cudaEventRecord(event, stream), "record");
  ledger.ordered({.call = "cudaEventRecord", .op = event_record, .stream = stream, .event = event});
  check(run_self({"_event_child", hex(&handle, sizeof handle)}), "the other process");
}

void event_child(Ledger& ledger, int argc, char** argv) {
  check(argc != 1, "handle");
  cudaIpcEventHandle_t handle;
  from_hex(argv[0], &handle, sizeof handle);
  ledger.name_handle("handle1", &handle, sizeof handle);
  cudaEvent_t event = nullptr;
  check(cudaIpcOpenEventHandle(&event, handle), "open");
  ledger.name("event1", event);
  ledger.ordered(
      {.call = "cudaIpcOpenEventHandle", .op = event_open, .event = event, .handle = "handle1"});
  const cudaStream_t stream = make_stream(ledger, "stream1");
  check(cudaStreamWaitEvent(stream, event), "wait");
  ledger.ordered(
      {.call = "cudaStreamWaitEvent", .op = stream_wait_event, .stream = stream, .event = event});
  check(cudaEventSynchronize(event), "synchronize");
  ledger.ordered({.call = "cudaEventSynchronize", .op = event_synchronize, .event = event});
}

const Routes added({{"stream_values", values},
                    {"host_function", function},
                    {"ipc_event", events},
                    {"_event_child", event_child}});

} // namespace
} // namespace hitproof::routes
